"""From a finished graph to StableHLO, and passes over StableHLO.

Compiled backends read StableHLO, never qb. Nothing here knows how the graph was made or what will run the result.
"""
