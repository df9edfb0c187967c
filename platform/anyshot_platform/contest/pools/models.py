"""Tables of dataset packs and the pools they make up."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from anyshot_platform.foundation.database import Base, new_id, now


class Pack(Base):
    """One dataset as one file, known by the digest of its content."""

    __tablename__ = "packs"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    name: Mapped[str]
    domain: Mapped[str] = mapped_column(default="")
    digest: Mapped[str] = mapped_column(ForeignKey("blobs.digest"), unique=True)
    size: Mapped[int]
    images: Mapped[int]
    classes: Mapped[int]
    fingerprints: Mapped[str | None] = mapped_column(
        ForeignKey("blobs.digest")
    )  # a file: what its images are known by
    details: Mapped[dict[str, Any]] = mapped_column(
        default=dict
    )  # counts a class, description, contact sheet
    created_at: Mapped[datetime] = mapped_column(default=now)


class PackKeeper(Base):
    """Someone who brought the bytes of a pack, and may therefore put it into pools."""

    __tablename__ = "pack_keepers"

    pack_id: Mapped[str] = mapped_column(ForeignKey("packs.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id"), primary_key=True)
    created_at: Mapped[datetime] = mapped_column(default=now)


class Pool(Base):
    """A named, versioned list of packs."""

    __tablename__ = "pools"

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str]
    description: Mapped[str] = mapped_column(Text, default="")
    owner_id: Mapped[str] = mapped_column(ForeignKey("users.id"))  # who made it
    competition_id: Mapped[str | None] = mapped_column(
        ForeignKey("competitions.id"), index=True
    )  # whose organizers it belongs to, instead of the one who made it
    combines: Mapped[list[str]] = mapped_column(default=list)  # made of the packs of these pools, by slug
    published_at: Mapped[datetime | None]  # participants may download it
    publish_when_over: Mapped[bool] = mapped_column(
        default=False
    )  # by the clock, after the last phase that uses it
    created_at: Mapped[datetime] = mapped_column(default=now)
    deleted_at: Mapped[datetime | None]


class PoolVersion(Base):
    """One state of a pool; phases refer to it, so it never changes."""

    __tablename__ = "pool_versions"
    __table_args__ = (UniqueConstraint("pool_id", "number"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True, default=new_id)
    pool_id: Mapped[str] = mapped_column(ForeignKey("pools.id"))
    number: Mapped[int]
    digest: Mapped[str] = mapped_column(String(64))
    note: Mapped[str] = mapped_column(Text, default="")
    created_by: Mapped[str] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)

    pool: Mapped[Pool] = relationship()
    entries: Mapped[list[PoolPack]] = relationship(order_by="PoolPack.position", cascade="all, delete-orphan")


class PoolPack(Base):
    """A pack at its place in a pool version: the place is what a task's `dataset` number means."""

    __tablename__ = "pool_packs"

    pool_version_id: Mapped[str] = mapped_column(ForeignKey("pool_versions.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    pack_id: Mapped[str] = mapped_column(ForeignKey("packs.id"), index=True)

    pack: Mapped[Pack] = relationship()
