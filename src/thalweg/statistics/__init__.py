"""What is known of streams, tables and the machine: measured, declared, sampled or assumed."""
