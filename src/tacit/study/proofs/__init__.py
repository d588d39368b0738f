"""What recorded releases leak, proved without a solver; their claims, compared with the engine."""
