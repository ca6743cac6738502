# SPDX-License-Identifier: MIT
from transformers import PretrainedConfig


class StrataConfig(PretrainedConfig):
    """'parameters' has the name and shape of each tensor."""

    model_type = "strata"

    def __init__(self, parameters=None, **kwargs):
        self.parameters = parameters or {}
        super().__init__(**kwargs)
