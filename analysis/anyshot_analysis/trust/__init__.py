"""What a support set alone tells about a learner's accuracy on the task (Shimabucoro et al., *Evaluating the
Evaluators*)."""
