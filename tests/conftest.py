"""Settings shared by all tests: one thread each, since the tests themselves run in parallel."""

import torch

torch.set_num_threads(1)
