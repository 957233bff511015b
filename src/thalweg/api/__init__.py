"""What people and programs use: sessions, handles, results, status."""
