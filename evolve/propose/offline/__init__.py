"""The proposer that needs no model: ingredients, crossover, constants. The baseline that a model has to beat."""
