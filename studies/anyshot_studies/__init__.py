"""Studies that use the starting kit: experiments with methods, and reproductions of published figures."""
