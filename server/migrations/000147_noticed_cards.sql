-- expand, runs with 0.1.0

-- What a notice of the processor says about a card that is being saved, for a customer who closed the browser at the bank.
ALTER TABLE card_setups ADD COLUMN noticed json;
