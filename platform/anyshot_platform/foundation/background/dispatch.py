"""Threads that send what transactions left behind: rings at once after their commit, e-mails, webhooks.

The database row is the truth. A process that dies between commit and sending loses nothing, because every
dispatcher, in whatever process, looks at the whole outbox each second.
"""

from sqlalchemy.orm import Session

from anyshot_platform.foundation.background.loops import Loop
from anyshot_platform.foundation.background.outbox import OUTBOX_KEY


class Dispatcher(Loop):
    """A loop that is woken by each commit that left something to send."""

    def start(self) -> None:
        """Start the thread that sends what the outbox holds."""
        self._database.after_commit.append(self._committed)
        super().start()

    def stop(self) -> None:
        """Finish what is being sent and end the thread."""
        if self._committed in self._database.after_commit:
            self._database.after_commit.remove(self._committed)
        super().stop()

    def _committed(self, session: Session) -> None:
        if session.info.get(OUTBOX_KEY, False):
            self.wake()
