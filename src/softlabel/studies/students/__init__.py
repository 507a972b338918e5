"""Students of `verdict` and `plan`: a problem with its teacher's predictions, and how students are trained on it."""
