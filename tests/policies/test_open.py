import json
import shutil
from pathlib import Path

import pytest

from prmkit.errors import UnknownName
from prmkit.policies import BUILTIN, ENGINES, open_policy, policy_folder
from prmkit.policies.hf import HFPolicy
from prmkit.policies.sampling import Shape


@pytest.mark.parametrize("name", BUILTIN)
def test_every_policy_that_ships_opens(name):
    assert isinstance(open_policy(f"builtin:{name}"), HFPolicy)


def test_a_folder_is_named_with_its_engine_or_alone(tiny):
    assert isinstance(open_policy(str(tiny)), HFPolicy)
    assert isinstance(open_policy(f"hf:{tiny}"), HFPolicy)


def test_the_folder_behind_a_spec_is_what_transformers_takes(tiny):
    assert policy_folder(f"hf:{tiny}") == policy_folder(str(tiny)) == str(tiny)
    assert policy_folder("hf:Qwen/Qwen3-8B") == "Qwen/Qwen3-8B"
    assert (Path(policy_folder("builtin:arith")) / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("builtn:arith", r"unknown policy engine 'builtn' \(nearest: 'builtin'\)"),
        ("Qwen/Qwen3-8B", r"unknown policy engine 'Qwen/Qwen3-8B'.*known: builtin, hf"),
        ("builtin:arit", r"unknown builtin policy 'arit' \(nearest: 'arith'\)"),
    ],
)
def test_an_unknown_name_lists_the_known_ones(spec, message):
    with pytest.raises(UnknownName, match=message):
        open_policy(spec)
    with pytest.raises(UnknownName, match=message):
        policy_folder(spec)


def test_the_models_own_temperature_is_used_where_none_is_given(tiny, tmp_path):
    folder = shutil.copytree(tiny, tmp_path / "warm")
    own = {"do_sample": True, "temperature": 0.6, "top_k": 7}
    (folder / "generation_config.json").write_text(json.dumps(own))
    assert open_policy(str(folder)).sampling.shape == Shape(temperature=0.6, top_k=7)
    assert open_policy(str(folder), temperature=0, top_p=0.9).sampling.shape == Shape(0, 7, 0.9)


def test_a_model_that_was_not_made_to_be_sampled_is_sampled_as_it_is(tiny, tmp_path):
    """Greedy generation configs carry temperatures that mean nothing."""
    folder = shutil.copytree(tiny, tmp_path / "greedy")
    (folder / "generation_config.json").write_text(json.dumps({"do_sample": False, "temperature": 0.3}))
    assert open_policy(str(folder)).sampling.shape == Shape()


def test_further_options_reach_the_sampling():
    sampling = open_policy("builtin:arith", separator="\n\n", max_tokens=7, rows=3, seed=9).sampling
    assert (sampling.separator, sampling.max_tokens, sampling.rows, sampling.seed) == ("\n\n", 7, 3, 9)


def test_every_engine_names_a_factory_and_its_extra():
    for target, extra in ENGINES.values():
        module, _, attribute = target.partition(":")
        assert module.startswith("prmkit.policies.")
        assert attribute
        assert extra in ("hf", "vllm")
