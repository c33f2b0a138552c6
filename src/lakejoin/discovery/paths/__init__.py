"""Join paths: how do I get from one table to another, by joining tables in between?"""
