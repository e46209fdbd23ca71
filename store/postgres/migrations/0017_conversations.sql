-- Cases are held by advisory locks, not by rows.
DROP TABLE IF EXISTS cases;
