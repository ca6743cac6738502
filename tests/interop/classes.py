# SPDX-License-Identifier: MIT
# What transformers' configuration classes give fields that config.json leaves out, as the importers
# state it (specs/library/import/classes.lua) and as a test without Python holds it
# (tests/spec/import_defaults.txt).
#   PYTHON tests/interop/classes.py lua|text > FILE
#   PYTHON tests/interop/classes.py check TOP      whether both files are what they would be
import dataclasses, json, os, sys, typing
import transformers
from transformers import AutoConfig, GenerationConfig, PreTrainedConfig

KINDS = ["beam", "deepseek_v3", "deepseek_v4", "gemma3_text", "glm5_next", "gpt2", "granite",
         "hy_v4", "inkling2_text", "kimi_linear", "llama", "mistral", "mixtral", "muse_spark",
         "nanochat", "olmo2", "qwen2", "qwen3", "qwen3_moe", "qwen4_exp_text", "smollm3", "zaya"]

# What nothing computes logits with, in any class: the kit allows it.
INERT = {"initializer_range", "use_cache", "attention_dropout", "resid_pdrop", "embd_pdrop",
         "attn_pdrop", "pretraining_tp", "pad_token_id", "bos_token_id", "eos_token_id",
         "output_router_logits", "router_aux_loss_coef", "router_jitter_noise"}


# The class whose fields the importer reads: that of the text model.
def class_of(kind):
    made = AutoConfig.for_model(kind)
    return type(made.get_text_config())


# By name: the default, and whether null is a value.
def fields_of(kind):
    out = {}
    of, base = class_of(kind), {f.name for f in dataclasses.fields(PreTrainedConfig)}
    for field in dataclasses.fields(of):
        if field.name in base | INERT:
            continue
        value = field.default
        if value is dataclasses.MISSING:
            value = field.default_factory()
        null = type(None) in typing.get_args(field.type) or "None" in str(field.type)
        name = of.attribute_map.get(field.name, field.name)
        out[name] = (value, null)
    return dict(sorted(out.items()))


# By layer type, or one.
def theta_of(kind):
    return class_of(kind).default_theta


def version():
    return ".".join(transformers.__version__.split(".")[:2])


def lua_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"[{json.dumps(k)}] = {lua_value(v)}"
                                for k, v in value.items()) + " }"
    return repr(value)


def wrapped(items, indent, width=98):
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) + 2 > width:
            lines.append(line.rstrip())
            line = indent
        line += item + ", "
    return lines + ([line.rstrip()] if line.strip() else [])


def as_lua():
    lines = ["-- SPDX-License-Identifier: MIT",
             f"-- Made by tests/interop/classes.py of transformers {version()}: what its configuration",
             "-- classes give fields that config.json leaves out.  null: the fields that may be null;",
             "-- theta: the base of rope's frequencies; alias: second names of fields.  See class.lua.",
             "return {"]
    for kind in KINDS:
        fields = fields_of(kind)
        lines += [f"  {kind} = {{ theta = {lua_value(theta_of(kind))}, fields = {{"]
        lines += wrapped([f"{name} = {lua_value(v)}" for name, (v, _) in fields.items()
                          if v is not None], "    ")
        lines += ["  }, null = {"]
        lines += wrapped([f"{name} = true" for name, (_, null) in fields.items() if null], "    ")
        lines += ["  }, alias = {"]
        lines += wrapped([f"{name} = {lua_value(other)}" for name, other in
                          sorted(class_of(kind).attribute_map.items())], "    ")
        lines += ["  } },"]
    return "\n".join(lines + ["}"]) + "\n"


# KIND FIELD NULL VALUE: whether the class takes null, "null" or "value"; a value as JSON, null: that
# the class has no value of its own.
def as_text():
    lines = ["# SPDX-License-Identifier: MIT",
             f"# Made by tests/interop/classes.py of transformers {version()}: importer, field, null or",
             "# value: what its configuration class takes; the value that the class gives it;",
             "# import_defaults_test.c says what it is for."]
    for kind in KINDS:
        for name, (value, null) in fields_of(kind).items():
            lines.append(f"{kind} {name} {'null' if null else 'value'} {json.dumps(value)}")
    return "\n".join(lines) + "\n"


FILES = {"specs/library/import/classes.lua": as_lua, "tests/spec/import_defaults.txt": as_text}


def check(top):
    bad = [name for name, make in FILES.items() if open(os.path.join(top, name)).read() != make()]
    for name in bad:
        print(f"BAD  {name} is not what tests/interop/classes.py makes of transformers {version()}")
    return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1] == "check":
        sys.exit(check(sys.argv[2]))
    sys.stdout.write(as_lua() if sys.argv[1] == "lua" else as_text())
