"""What a chapter needs to train a model: a loop, losses, and schedules of the learning rate."""
