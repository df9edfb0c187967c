"""What the API says and takes about accounts."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from anyshot_platform.people.users.viewer import Scope


class SignUp(BaseModel):
    """A new account."""

    model_config = ConfigDict(extra="forbid")

    username: str = Field(min_length=3, max_length=32)
    email: str = Field(max_length=320)
    password: str = Field(max_length=200)
    display_name: str = Field(default="", max_length=200)


class LogIn(BaseModel):
    """User name or e-mail address, and password."""

    model_config = ConfigDict(extra="forbid")

    username: str = Field(max_length=320)
    password: str = Field(max_length=200)
    token_name: str = Field(default="log-in", max_length=100)
    code: str = Field(
        default="", max_length=64, description="of the second factor, where the account has one"
    )
    organize: bool = Field(default=False, description="the token may also steer competitions")


class UserOut(BaseModel):
    """The viewer's own account."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    username: str
    email: str | None
    display_name: str
    affiliation: str
    country: str
    homepage: str
    about: str
    profile_public: bool
    time_zone: str
    is_site_admin: bool
    created_at: datetime


class ProfileIn(BaseModel):
    """Changes to one's own profile; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    display_name: str | None = Field(default=None, max_length=200)
    affiliation: str | None = Field(default=None, max_length=200)
    country: str | None = Field(default=None, max_length=200)
    homepage: str | None = Field(default=None, max_length=200, pattern=r"^(https?://[^\s<>\"]+)?$")
    about: str | None = Field(default=None, max_length=4000)
    profile_public: bool | None = Field(
        default=None, description="everybody sees the profile, one's teams and where they stand"
    )
    time_zone: str | None = Field(default=None, max_length=64)


class TokenIn(BaseModel):
    """A token to be made."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    scopes: list[Scope] = Field(min_length=1, max_length=len(Scope))
    expires_at: datetime | None = None


class TokenOut(BaseModel):
    """A token without its secret."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    name: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class TokenMade(TokenOut):
    """A token with its secret, shown this once."""

    secret: str
