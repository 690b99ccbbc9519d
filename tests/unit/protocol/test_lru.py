from toolwire.protocol.lru import ByteLru


def test_the_least_recently_used_goes_first() -> None:
    cache: ByteLru[str, int] = ByteLru(30)
    cache.put("a", 1, 10)
    cache.put("b", 2, 10)
    cache.put("c", 3, 10)
    assert cache.get("a") == 1
    cache.put("d", 4, 10)
    assert [cache.get(key) for key in "abcd"] == [1, None, 3, 4]


def test_one_large_value_takes_the_place_of_several() -> None:
    cache: ByteLru[str, int] = ByteLru(30)
    for key in "abc":
        cache.put(key, 1, 10)
    cache.put("d", 1, 25)
    assert len(cache) == 1


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    cache: ByteLru[str, int] = ByteLru(30)
    cache.put("a", 1, 10)
    cache.put("b", 1, 31)
    assert (cache.get("a"), cache.get("b")) == (1, None)


def test_a_value_that_is_put_again_counts_once() -> None:
    cache: ByteLru[str, int] = ByteLru(30)
    for number in range(9):
        cache.put("a", number, 10)
    cache.put("b", 1, 20)
    assert (cache.get("a"), cache.get("b")) == (8, 1)
