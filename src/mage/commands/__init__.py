"""What the commands of `mage` do; imported only when one is called."""
