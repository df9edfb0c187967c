"""Engine, sessions and column types for SQLite and PostgreSQL alike."""

import secrets
import select
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Engine,
    Integer,
    MetaData,
    String,
    create_engine,
    event,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.orm import DeclarativeBase, Mapper, ORMExecuteState, Session, sessionmaker
from sqlalchemy.types import TypeDecorator

from anyshot_platform.foundation.domain_events import SUBSCRIBERS_KEY, Subscribers
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import decimal
from anyshot_platform.foundation.storage import STORAGE_KEY, Storage

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")
_HELD_KEY = "held"
_ASK_AFTER = 20.0  # seconds that a connection was not used
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
Json = JSON().with_variant(JSONB(), "postgresql")


_VIRTUAL: ContextVar[datetime | None] = ContextVar("virtual", default=None)


def now() -> datetime:
    """The present moment, UTC, aware."""
    return _VIRTUAL.get() or datetime.now(UTC)


@contextmanager
def virtual_clock() -> Iterator[Callable[[datetime], object]]:
    """Give a function that sets what `now` says inside, to this thread alone: for simulations."""
    token = _VIRTUAL.set(None)
    try:
        yield _VIRTUAL.set
    finally:
        _VIRTUAL.reset(token)


def new_id() -> str:
    """Return 32 hex digits that sort by time of creation: 48 bits of milliseconds, 80 of chance."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


class Moment(TypeDecorator[datetime]):
    """A moment in UTC: aware in Python, naive UTC in SQLite, `timestamptz` in PostgreSQL."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs a time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Word(TypeDecorator[E]):
    """A `StrEnum` stored as its text, so that a new word needs no migration."""

    impl = String(32)
    cache_ok = True

    def __init__(self, words: type[E]) -> None:
        super().__init__()
        self.words = words

    def process_bind_param(self, value: E | None, dialect: Dialect) -> str | None:
        return None if value is None else self.words(value).value

    def process_result_value(self, value: str | None, dialect: Dialect) -> E | None:
        return None if value is None else self.words(value)


class TypedJson(TypeDecorator[T]):
    """A Pydantic model or a dataclass stored as readable JSON; `{}`, what a row has before there is any, is None.

    Fields that this release does not know are left out when a row is read, and those that it lacks take their default.
    """

    impl = Json
    cache_ok = True

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind
        self._adapter: TypeAdapter[T] = TypeAdapter(kind)

    def process_bind_param(self, value: T | None, dialect: Dialect) -> Any:
        return {} if value is None else self._adapter.dump_python(value, mode="json")

    def process_result_value(self, value: Any | None, dialect: Dialect) -> T | None:
        return self._adapter.validate_python(value) if value else None


class Base(DeclarativeBase):
    """Base of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - read by SQLAlchemy
        datetime: Moment(),
        dict[str, Any]: Json,
        dict[str, float]: Json,
        list[Any]: Json,
        list[str]: Json,
        list[int]: Json,
        str: String(200),
    }


def _refuse_unstorable(mapper: Mapper[Any], connection: object, row: Any) -> None:
    """Refuse what PostgreSQL cannot hold, with SQLite too: NUL, half characters, text and numbers beyond a column."""
    for name, column in mapper.columns.items():
        value = row.__dict__.get(name)
        if isinstance(value, str):
            _require_text(name, value, getattr(column.type, "length", None))
        elif isinstance(value, int) and isinstance(column.type, Integer):
            most = 2**63 - 1 if isinstance(column.type, BigInteger) else 2**31 - 1
            if not -most <= value <= most:
                raise Invalid(
                    f"The number for “{name}” is too large: at most {decimal(most)}.",
                    field=name,
                )


def _require_text(name: str, text: str, most: int | None) -> None:
    if not is_storable(text):
        raise Invalid(
            f"The text for “{name}” holds a character that cannot be kept: NUL or half a pair.",
            field=name,
        )
    if most is not None and len(text) > most:
        raise Invalid(
            f"The text for “{name}” has {len(text)} characters; {most} are possible.",
            field=name,
        )


def is_storable(text: str) -> bool:
    """Whether a database can hold the text: no NUL and no half of a character."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


event.listen(Base, "before_insert", _refuse_unstorable, propagate=True)
event.listen(Base, "before_update", _refuse_unstorable, propagate=True)


def insert_into(session: Session, table: type[Base]) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that may say what becomes of a row that is there already, for the session's kind of database."""
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    return insert(table)


def hold(session: Session, *names: str) -> None:
    """Be alone with the things of these names until the transaction ends: who counts before they write holds what they
    count in, so that "at least one" and "at most n" stay true for two at once.

    What the session has read until then is read again. What a savepoint holds goes with it where it is rolled back.
    SQLite's writers are alone from their beginning.
    """
    if session.get_bind().dialect.name != "postgresql":
        return
    session.flush()
    transaction = session.get_nested_transaction() or session.get_transaction() or session.begin()
    if session.info.get(_HELD_KEY, (None,))[0] is not transaction:
        session.info[_HELD_KEY] = transaction, set()
    held = session.info[_HELD_KEY][1]
    fresh = sorted({*names} - held)  # always in one order: no two wait for each other
    for name in fresh:
        session.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": name})
    held.update(fresh)
    if fresh:
        session.expire_all()


def count_anew(session: Session) -> None:
    """Let PostgreSQL look at what arrived at once: until it has counted, it plans for a handful of rows."""
    if session.get_bind().dialect.name == "postgresql":
        session.execute(text("ANALYZE"))


class Database:
    """The engine and its two kinds of transaction.

    SQLite knows one writer at a time. A transaction that reads first and writes later would fail at once with
    "database is locked" when another one wrote in between, so transactions that may write take the lock when
    they begin (`writing`), and those that only read never take it (`reading`).
    `facts` are in the `info` of each session.
    """

    def __init__(
        self,
        address: str,
        *,
        pool_size: int = 20,
        subscribers: Subscribers | None = None,
        storage: Storage | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        self.engine = _create_engine(address, pool_size)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        told = {SUBSCRIBERS_KEY: subscribers or {}, STORAGE_KEY: storage, **(facts or {})}
        self._write = sessionmaker(self.engine, expire_on_commit=False, info=told)
        reader = self.engine.execution_options(anyshot_read_only=True)
        self._read = sessionmaker(reader, expire_on_commit=False, autoflush=False, info=told)
        # With PostgreSQL a glance needs no BEGIN and no ROLLBACK, which are round trips.
        glancer = reader if self.is_sqlite else reader.execution_options(isolation_level="AUTOCOMMIT")
        self._glance = sessionmaker(glancer, expire_on_commit=False, autoflush=False, info=told)
        event.listen(self._glance, "before_flush", _refuse_flush)
        event.listen(self._glance, "do_orm_execute", _refuse_change)
        self.after_commit: list[Callable[[Session], None]] = []

    def write_session(self) -> Session:
        """Return a session that may write; the caller ends it."""
        return self._write()

    def glance_session(self) -> Session:
        """Return a session for SELECTs alone, which refuses everything else; the caller ends it."""
        return self._glance()

    def after_flush(self, listener: Callable[[Session, object], None]) -> None:
        """Call `listener` whenever a transaction has written rows; what it raises ends the transaction."""
        event.listen(self._write, "after_flush", listener)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """One transaction: committed at the end, rolled back by an exception."""
        with self._write() as session:
            yield session
            session.commit()
            self.committed(session)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """One transaction that reads a consistent state."""
        with self._read() as session:
            yield session

    @contextmanager
    def glancing(self) -> Iterator[Session]:
        """For SELECTs alone: the quickest way to look something up, with PostgreSQL without a transaction around it.

        Each statement sees what is committed then, as it does in a transaction of PostgreSQL's usual isolation.
        """
        with self._glance() as session:
            yield session

    def committed(self, session: Session) -> None:
        """Tell the listeners, such as the doorbell, that a transaction was committed."""
        for listener in self.after_commit:
            listener(session)

    def dispose(self) -> None:
        """Close all connections: those at rest now, one that is in use when it comes back."""
        pool = self.engine.pool
        self.engine.dispose()
        event.listen(pool, "checkin", lambda _, record: record.invalidate())


def _create_engine(address: str, pool_size: int) -> Engine:
    url = make_url(address)
    if url.get_backend_name() != "sqlite":
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        engine = create_engine(url, pool_size=pool_size, max_overflow=pool_size, hide_parameters=True)
        _watch_connections(engine)
        return engine
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        hide_parameters=True,
        connect_args={"check_same_thread": False, "timeout": 30, "isolation_level": None},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


class ReadsOnly(RuntimeError):
    """A session that was made for looking was asked to write: a bug of ours."""


def _refuse_flush(session: Session, context: object, instances: object) -> None:
    raise ReadsOnly("this session only reads, and something in it was changed")


def _refuse_change(state: ORMExecuteState) -> None:
    if not state.is_select:
        raise ReadsOnly("this session only reads")


def _watch_connections(engine: Engine) -> None:
    """Never hand out a connection that the server has closed, and ask it only where that cannot be seen.

    A server that goes says so, which makes the socket readable: looking costs no round trip. After a long rest the
    server is asked all the same, since a network in between may have forgotten the connection.
    """

    def note_rest(connection: Any, record: Any) -> None:
        record.info["rests_since"] = time.monotonic()

    def refuse_dead(connection: Any, record: Any, proxy: object) -> None:
        rested = time.monotonic() - record.info.get("rests_since", time.monotonic())
        try:
            if rested > _ASK_AFTER or _has_word(connection.fileno()):
                engine.dialect.do_ping(connection)
        except (engine.dialect.loaded_dbapi.Error, OSError) as error:
            raise DisconnectionError from error

    event.listen(engine, "checkin", note_rest)
    event.listen(engine, "checkout", refuse_dead)


def _has_word(file: int) -> bool:
    """Whether something can be read from a socket right now, be it its end."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(0))


def _prepare_sqlite(connection: Any, record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Any) -> None:
    read_only = connection.get_execution_options().get("anyshot_read_only", False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
