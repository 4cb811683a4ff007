"""What runs the model, behind four verbs: sample, forward_backward, optim_step, save/load."""
