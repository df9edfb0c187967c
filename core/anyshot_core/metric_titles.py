"""What the metrics of a run are called, in boards and reports. It loads nothing."""

METRIC_TITLES = {
    "normalized_accuracy": "Normalized accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "accuracy": "Accuracy",
    "macro_f1": "Macro F1",
    "macro_precision": "Macro precision",
    "macro_recall": "Macro recall",
}
