"""What every part of Anyshot shares: data, protocols, episodes, results, both wires, the task server. No torch."""
