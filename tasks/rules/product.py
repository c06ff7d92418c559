"""What a product is called without its size: `서울우유 1L` and `서울우유 2.3L (2개)` are one product.

Taken away are sizes, counts, what is multiplied with them, and the words of packages and offers. All else stays: the
brand, the sort (찌개용, 부침용), a share (카카오 72%), a number that is part of the name (7up, 비타500).
"""

import polars as pl

# A unit ends where its word ends.
_UNITS = (
    "kg|㎏|mg|㎎|ml|㎖|cl|cc|dl|cm|㎝|mm|㎜|oz|lb|킬로그램|킬로|그램|리터|밀리|g|l|ℓ|m|개입|개월|인분|봉지|봉입|봉|병입|병|"
    "캔입|캔|팩입|팩|통|포기|포대|포입|포|곽|박스|상자|묶음|세트|단|줄|송이|마리|미|손|모|알|구|입|개|매입|매|장|롤|켤레|쌍|"
    "자루|조각|쪽|티백|스틱|번들|캡슐|정|ea|pcs?|ps|pack|ct|count|p|t"
)
_NUMBER = r"\d+(?:[.,/~～-]\d+)*"
_SIZE = rf"{_NUMBER}(?:\s*\+\s*{_NUMBER})?\s*(?:{_UNITS})"
_TIMES = r"\s*[x×*＊✕]\s*"
_END = r"($|[^\p{L}\d])"
_SIZES = (
    rf"(?i)(^|[^\p{{L}}\d.]|\p{{Hangul}})(?:{_NUMBER}{_TIMES})*{_SIZE}(?:{_TIMES}{_NUMBER}\s*(?:{_UNITS})?)*{_END}",
    rf"(?i)(^|[^\p{{L}}\d]){_NUMBER}(?:{_TIMES}{_NUMBER})+\s*(?:{_UNITS})?{_END}",  # 97*3
    rf"(?i)(^|[^\p{{L}}]){_TIMES}{_NUMBER}\s*(?:{_UNITS})?{_END}",  # x3
    rf"()\b\d{{1,2}}\s*\+\s*\d{{1,2}}(?:기획|증정|행사)?{_END}",  # 1+1
    r"(?i)(^|[^\p{L}\d])(?:약|대용량|소용량|기획세트|기획|증정|번들|묶음|행사|특가|할인|낱개|리필용?|골라담기|bulk|refill|"
    rf"kg|g|ml|l|봉지|봉|병|캔|팩|통|박스|단|망|입|개){_END}",
)
_NEIGHBOURS = 3  # sizes that share the letter between them are taken one after the other: (200g*3+1개입) 800g


def product_of(name: pl.Expr) -> pl.Expr:
    """The letters and digits of names without sizes, small, without spaces; null where no letter is left."""
    for _ in range(_NEIGHBOURS):
        for size in _SIZES:
            name = name.str.replace_all(size, "$1 $2")
    letters = name.str.to_lowercase().str.replace_all(r"[^\p{L}\d%％]", "")
    return pl.when(letters.str.contains(r"\p{L}")).then(letters)
