"""MAML (Finn et al. 2017), second order: learn weights from which a few gradient steps solve a task."""

from api import MetaLearner

from anyshot_starting_kit.training import ModelLearner, Settings, train_on_tasks
from anyshot_starting_kit.training.inner_loop import GradientLearner

SETTINGS = Settings.read(__file__)


class MyMetaLearner(MetaLearner):
    """Learns where to start from; `method.second_order` in config.json says how the outer gradient is taken."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Outer steps on the query loss, differentiated through the inner steps (algorithm 2)."""
        model = GradientLearner(SETTINGS)
        train_on_tasks(model, meta_train_generator, meta_valid_generator, SETTINGS, self.log)
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Takes the inner steps on the support set, then classifies the query."""

    def build(self):
        """The same model, untrained."""
        return GradientLearner(SETTINGS)
