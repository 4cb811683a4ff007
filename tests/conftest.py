"""One thread of PyTorch in all tests: their models are tiny, and on a busy machine threads wait for each other."""

import torch

torch.set_num_threads(1)
