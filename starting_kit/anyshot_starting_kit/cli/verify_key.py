"""`anyshot verify-key`: whether a published key is the one that a phase was committed to."""

import click

from anyshot_core.protocols.keys import PhaseSecrets, Seed, read_seed, write_seed
from anyshot_starting_kit.cli.exits import Exit


class SeedType(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]: generic in new versions of click only
    """A whole number, or 64 hex digits."""

    name = "seed"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Seed:
        """The seed; fails with what is wanted."""
        text = str(value)
        try:
            return read_seed(int(text) if text.isdecimal() and len(text) < 20 else text)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(name="verify-key")
@click.argument("key", type=SeedType())
@click.argument("commitment")
@click.option("--runs", type=click.IntRange(1, 20), default=1, show_default=True, help="Seeded runs to list.")
@click.option("--same-tasks", is_flag=True, help="All runs have the same tasks.")
@click.option("--test-seed", type=click.IntRange(0), multiple=True, help="Published with the key; one a run.")
@click.option("--split-seed", type=SeedType(), help="Published with the key.")
def verify_key(
    key: Seed,
    commitment: str,
    runs: int,
    same_tasks: bool,
    test_seed: tuple[int, ...],
    split_seed: Seed | None,
) -> None:
    """Compare the published KEY of a phase with its COMMITMENT, and list what its tasks were drawn from.

    Exits with 0 when they belong together, with 1 when not.
    """
    if not isinstance(key, bytes):
        raise click.UsageError("A key has 64 hex digits.")
    secrets = PhaseSecrets(key, test_seed, split_seed, same_tasks=same_tasks)
    if secrets.commitment() != commitment.strip().lower():
        click.echo(f"This is not the key of the commitment: its own would be {secrets.commitment()}.")
        raise SystemExit(Exit.FAILED)
    click.echo("The key is the one that the phase was committed to.")
    for run in range(len(test_seed) or runs):
        click.echo(f"Run {run + 1}: tasks {write_seed(secrets.tasks(run))}")
        click.echo(f"       query order {secrets.query_order(run).hex()}")
    click.echo(f"Class split: {write_seed(secrets.class_split())}")
