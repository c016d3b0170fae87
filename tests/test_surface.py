"""What a package offers by name works and says what it is."""

import importlib
import inspect
import pkgutil

import pytest

import prmkit

PACKAGES = ["prmkit", *(m.name for m in pkgutil.walk_packages(prmkit.__path__, "prmkit.") if m.ispkg)]
MODULES = [m.name for m in pkgutil.walk_packages(prmkit.__path__, "prmkit.")]


def offered(package):
    """The public functions and classes of a package: those it lists, or else those it defines."""
    listed = getattr(package, "__all__", None)
    names = listed if listed is not None else [n for n in vars(package) if not n.startswith("_")]
    found = {name: getattr(package, name) for name in names}
    kept = {
        name: thing for name, thing in found.items() if inspect.isfunction(thing) or inspect.isclass(thing)
    }
    return kept if listed is not None else {n: t for n, t in kept.items() if t.__module__ == package.__name__}


def says_something(thing):
    written = (thing.__doc__ or "").strip()
    return bool(written) and not written.startswith(
        f"{thing.__name__}("
    )  # what dataclasses write by themselves


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_package_offers_has_a_docstring(name):
    package = importlib.import_module(name)
    assert [n for n, thing in offered(package).items() if not says_something(thing)] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_lists_only_what_it_has_and_each_name_once(name):
    package = importlib.import_module(name)
    listed = getattr(package, "__all__", [])
    assert all(hasattr(package, n) for n in listed)
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name):
    assert (importlib.import_module(name).__doc__ or "").strip()


def test_the_surface_is_not_empty():
    assert offered(prmkit).keys() == {"run"}
    assert "open_policy" in offered(importlib.import_module("prmkit.policies"))
