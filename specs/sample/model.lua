-- A model to begin with.
--   strata build model.lua && ./first train --data TEXT &&
--     ./first generate --weights first.safetensors --prompt "The "
-- What else can be written here: completion in an editor, or a constructor's error message.
local echo = require "echo"

-- How layers read each other.  Try another: standard {}, haares { blocks = 4 },
-- hyper { streams = 4 }, or the mixer of your own beside this file, echo {}.
local mixers = { published = attnres { blocks = 4 }, own = echo { speed = -1 } }

-- What the command line may choose: strata build model.lua -D mixer=own -D width=64
local chosen = option {
  mixer = { one_of = { "published", "own" }, default = "published", help = "of depth" },
  width = { type = "integer", min = 8, default = 128, help = "of the residual stream" },
}

return model {
  name = "first",
  vocab = 256, context = 256, dim = chosen.width,
  tokenizer = "bytes",
  norm = rmsnorm { eps = 1e-6 },
  residual = mixers[chosen.mixer],
  layers = times(6, layer {
    attention { heads = 4, rope = { theta = 10000 } },
    mlp { hidden = 384, activation = "swiglu" },
  }),
  train = { optimizer = adamw { lr = 1e-3 },
            schedule = cosine { warmup = 0.05, min_lr = 1e-4 },
            batch = 8, seed = 1 },
}
