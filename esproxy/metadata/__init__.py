"""What a tenant's cluster says about itself: settings, health, cat tables, identity."""
