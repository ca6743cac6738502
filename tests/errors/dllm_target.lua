local r = dllm { target = 0.5 }    --> dllm: expected target and weight together, found target alone
