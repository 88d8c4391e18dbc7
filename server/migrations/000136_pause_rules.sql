-- expand, runs with 0.1.0
ALTER TABLE subscriptions VALIDATE CONSTRAINT subscriptions_due;
