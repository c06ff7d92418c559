"""What may be published and what may not: good answers pass, and each kind of bad answer is caught by its own code.

Every bad answer is a good one with one thing changed.
"""

import json
import subprocess
import sys

import pytest

from checks.rows import Verdict, Written, check_written

CATALOGUE = (
    *("쌈배추(봉)", "청경채(봉)", "당근(봉)", "국산콩 두부 300g", "햇 양파 1.5kg", "1+1 서울우유 900mL", "시리얼 500g"),
    *(
        "[KF365] 백다다기오이 3입",
        "돼지고기 앞다리 600g",
        "감자 1kg",
        "떡볶이떡 500g",
        "사각어묵(4매)",
        "파 1단",
        "무 1개",
        "김치 1kg",
    ),
    *(
        "가지 3입",
        "새우살 200g",
        "주방세제 1L",
        "고무장갑 M",
        "모짜렐라 치즈 200g",
        "토마토 파스타소스 600g",
        "스파게티 500g",
    ),
)


def answer(text: str) -> str:
    return json.dumps({"decision": "write", "text": text}, ensure_ascii=False)


def written(
    text: str, recommended: str = "쌈배추(봉)", reason: str = "청경채(봉)", basket: tuple[str, ...] = ("청경채(봉)",)
) -> Written:
    return Written(answer(text), "stop", recommended, reason, basket)


def judge(row: Written) -> Verdict:
    return check_written([row], CATALOGUE)[0]


def codes(row: Written) -> list[str]:
    return [failure.code for failure in judge(row).failures]


GOOD = [
    ("쌈배추와 청경채로 따뜻한 샤브샤브 어떠세요?", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추랑 청경채 듬뿍 넣은 샤브샤브, 오늘 저녁에 딱이죠!", "쌈배추(봉)", "청경채(봉)"),
    ("청경채 담으셨네요! 쌈배추도 넣어 전골을 끓여 보세요.", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추와 청경채를 함께 데치면 맛있어요~", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추와 청경채로 끓인 국물, 참 시원해요ㅎㅎ", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추에 청경채까지 더하면 꿀맛이에요♥", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추와 청경채만 있으면 금방 끝나요:D", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추와 청경채로 만든 전골, 꿀맛이에요<3", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추와 청경채를 넣고 보글보글 끓여 보세요😋", "쌈배추(봉)", "청경채(봉)"),
    ("“쌈배추와 청경채로 샤브샤브 어떠세요?”", "쌈배추(봉)", "청경채(봉)"),
    ("쌈 배추와 청경채로 2~3인분 전골을 즐겨요", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추, 청경채 넣은 된장국 한 그릇 어떨까요?", "쌈배추(봉)", "청경채(봉)"),
    ("쌈배추와 청경채가 만나면 국물이 1.5배 깊어져요", "쌈배추(봉)", "청경채(봉)"),
    ("‘역시 이 맛이다’ 싶은 쌈배추와 청경채 전골이에요", "쌈배추(봉)", "청경채(봉)"),
    ("오이와 양파를 새콤달콤하게 무쳐 보세요", "[KF365] 백다다기오이 3입", "햇 양파 1.5kg"),
    ("백다다기오이에 양파를 곁들이면 아삭하거든요", "[KF365] 백다다기오이 3입", "햇 양파 1.5kg"),
    ("햇양파와 오이로 피클을 담가 볼까요?", "[KF365] 백다다기오이 3입", "햇 양파 1.5kg"),
    ("서울우유에 시리얼을 말면 든든한 아침이에요", "1+1 서울우유 900mL", "시리얼 500g"),
    ("시리얼엔 역시 우유죠", "1+1 서울우유 900mL", "시리얼 500g"),
    ("고소한 우유와 바삭한 시리얼, 간편하고 좋은데요", "1+1 서울우유 900mL", "시리얼 500g"),
    ("두부와 양파로 구수한 된장찌개를 끓여 보세요", "국산콩 두부 300g", "햇 양파 1.5kg"),
    ("두부 한 모와 양파면 두부조림이 뚝딱이에요", "국산콩 두부 300g", "햇 양파 1.5kg"),
    ("돼지고기와 두부를 넣으면 김치찌개가 완성돼요", "국산콩 두부 300g", "돼지고기 앞다리 600g"),
    ("앞다리살과 양파를 볶아 제육볶음으로 즐겨요", "햇 양파 1.5kg", "돼지고기 앞다리 600g"),
    ("감자와 당근을 넣은 카레, 아이들도 좋아해요", "감자 1kg", "당근(봉)"),
    ("감자랑 당근은 감자샐러드에도 잘 어울려요", "감자 1kg", "당근(봉)"),
    ("당근, 감자를 볶아 파스타에 더해도 별미예요", "당근(봉)", "감자 1kg"),
    ("떡볶이떡에 어묵이 빠지면 섭섭하잖아요", "사각어묵(4매)", "떡볶이떡 500g"),
    ("어묵과 떡볶이떡으로 매콤한 떡볶이 어때요?", "사각어묵(4매)", "떡볶이떡 500g"),
    ("어묵탕에 무를 넣으면 국물이 시원해 자꾸 생각나요", "무 1개", "사각어묵(4매)"),
    ("무와 어묵으로 여러 가지 탕을 끓여 보세요", "무 1개", "사각어묵(4매)"),
    ("파를 송송 썰어 두부 위에 올려 보세요", "파 1단", "국산콩 두부 300g"),
    ("스파게티에 토마토 파스타소스를 비비면 끝이에요", "토마토 파스타소스 600g", "스파게티 500g"),
    ("스파게티 위에 치즈를 솔솔 뿌려 보셔요", "모짜렐라 치즈 200g", "스파게티 500g"),
    ("감자를 으깨 모짜렐라 치즈와 구우면 맛있더라고요", "모짜렐라 치즈 200g", "감자 1kg"),
    ("새우와 양파를 볶으면 단맛이 나니까요", "새우살 200g", "햇 양파 1.5kg"),
    ("설거지할 때 고무장갑과 주방세제를 함께 쓰면 편해요", "고무장갑 M", "주방세제 1L"),
    ("주방세제 쓰실 때 고무장갑을 끼면 손이 부드럽지요", "고무장갑 M", "주방세제 1L"),
    ("가지와 양파를 볶아 덮밥으로 드셔 보시겠어요?", "가지 3입", "햇 양파 1.5kg"),
    ("김치에 두부를 곁들이면 안주로 그만이에요", "국산콩 두부 300g", "김치 1kg"),
    ("두부와 김치로 두부김치 어떠신가요", "국산콩 두부 300g", "김치 1kg"),
    ("당근이랑 쌈배추로 쌈을 싸 먹어요 오늘 저녁에요", "쌈배추(봉)", "당근(봉)"),
]


@pytest.mark.parametrize(("text", "recommended", "reason"), GOOD)
def test_a_good_answer_may_be_published(text: str, recommended: str, reason: str) -> None:
    verdict = judge(written(text, recommended, reason))
    assert verdict == Verdict(text, ())


BAD_TEXTS = [
    # size
    ("text.empty", "  "),
    (
        "text.too_long",
        "쌈배추와 청경채를 넉넉히 넣고 따뜻하고 깊은 국물 맛이 우러나도록 오래오래 끓인 샤브샤브 어떠세요?",
    ),
    ("text.too_many_sentences", "쌈배추예요. 청경채와 잘 어울려요. 끓여 보세요."),
    ("text.too_many_sentences", "쌈배추 어때요 청경채와 어울려요 전골로 끓여요"),
    # 해요체
    ("speech.not_haeyo", "쌈배추와 청경채로 샤브샤브를 끓여 보십시오."),
    ("speech.not_haeyo", "쌈배추와 청경채로 끓이면 국물이 시원합니다."),
    ("speech.not_haeyo", "쌈배추와 청경채로 샤브샤브 어떻습니까?"),
    ("speech.not_haeyo", "쌈배추와 청경채로 샤브샤브 어때?"),
    ("speech.not_haeyo", "쌈배추와 청경채로 샤브샤브 끓여 봐!"),
    ("speech.not_haeyo", "쌈배추와 청경채로 샤브샤브를 즐기자"),
    ("speech.not_haeyo", "쌈배추와 청경채로 끓인 따뜻한 샤브샤브"),
    ("speech.not_haeyo", "쌈배추와 청경채로 즐기는 오늘의 샤브샤브요"),
    ("speech.not_haeyo", "쌈배추와 청경채는 샤브샤브에 꼭 필요"),
    ("speech.not_haeyo", "쌈배추와 청경채를 넣으면 국물이 시원하니까"),
    ("speech.not_haeyo", "쌈배추와 청경채는 샤브샤브로 먹기 좋음"),
    ("speech.not_haeyo", "쌈배추와 청경채로 끓이면 너무 좋아여"),
    ("speech.not_haeyo", "쌈배추와 청경채면 국물이 끝내준다ㅋㅋ"),
    ("speech.not_haeyo", "쌈배추와 청경채는 잘 어울려요. 같이 끓여 먹자."),
    ("speech.not_haeyo", "쌈배추와 청경채는 궁합이 좋다 전골로 끓여 보세요"),
    ("speech.not_haeyo", "쌈배추와 청경채는 잘 어울립니다! 샤브샤브 어때요?"),
    ("speech.not_haeyo", "Try napa 쌈배추 with 청경채 in a hot pot"),
    # names
    ("names.recommended_missing", "청경채로 따뜻한 샤브샤브 어떠세요?"),
    ("names.reason_missing", "쌈배추로 따뜻한 샤브샤브 어떠세요?"),
    ("names.recommended_missing", "쌈채와 청경채로 따뜻한 샤브샤브 어떠세요?"),
    ("names.reason_missing", "쌈배추와 청경로 따뜻한 샤브샤브 어떠세요?"),
    ("names.other_item", "쌈배추와 청경채, 두부를 넣은 샤브샤브 어떠세요?"),
    ("names.other_item", "쌈배추와 청경채와 당근으로 샤브샤브 어떠세요?"),
    ("names.other_item", "쌈배추와 청경채에 모짜렐라 치즈를 올려 보세요"),
    # contact details, links, prices
    ("content.contact", "쌈배추와 청경채로 샤브샤브 어때요? 010-1234-5678"),
    ("content.contact", "쌈배추와 청경채로 샤브샤브 어때요? 1588-0000"),
    ("content.contact", "쌈배추와 청경채 요리법은 cook@shop.co.kr로 받아요"),
    ("content.contact", "쌈배추와 청경채 요리법은 카톡으로 물어봐 주세요"),
    ("content.contact", "쌈배추와 청경채 요리법은 @cook_daily를 봐요"),
    ("content.link", "쌈배추와 청경채 요리는 https://a.example 참고해요"),
    ("content.link", "쌈배추와 청경채 요리는 recipe.com에서 보세요"),
    ("content.link", "쌈배추와 청경채 요리는 링크를 눌러 보세요"),
    ("content.price", "쌈배추와 청경채를 3,900원에 담아 보세요"),
    ("content.price", "쌈배추와 청경채를 만원에 담아 보세요"),
    ("content.price", "쌈배추와 청경채를 50% 할인으로 만나 보세요"),
    ("content.price", "쌈배추와 청경채가 지금 최저가예요"),
    ("content.price", "쌈배추를 1+1로 담고 청경채와 끓여 보세요"),
    # claims, abuse, banned words
    ("content.health", "쌈배추와 청경채로 면역력을 키워 보세요"),
    ("content.health", "쌈배추와 청경채는 다이어트에 그만이에요"),
    ("content.health", "쌈배추와 청경채는 몸에 좋아요"),
    ("content.health", "쌈배추와 청경채로 피로 회복하세요"),
    ("content.health", "쌈배추와 청경채는 암을 막아 줘요"),
    ("content.profanity", "쌈배추와 청경채 조합, 존나 맛있어요"),
    ("content.profanity", "쌈배추와 청경채는 씨.발 맛있어요"),
    ("content.banned", "쌈배추와 청경채로 마약 전골을 끓여 보세요"),
    # what does not belong in a text
    ("text.markup", "쌈배추와 <b>청경채</b>로 샤브샤브 어떠세요?"),
    ("text.markup", "쌈배추와 청경채로 **샤브샤브** 어떠세요?"),
    ("text.markup", "- 쌈배추와 청경채로 샤브샤브 어떠세요?"),
    ("text.markup", "쌈배추와 청경채로\\n샤브샤브 어떠세요?"),
    ("text.markup", "쌈배추 &amp; 청경채로 샤브샤브 어떠세요?"),
    ("text.control_character", "쌈배추와 청경채로\t샤브샤브 어떠세요?"),
    ("text.control_character", "쌈배추와 \u202e청경채로 샤브샤브 어떠세요?"),
    ("text.control_character", "쌈배추와 청경채로 \u200b샤브샤브 어떠세요?"),
    ("text.control_character", "쌈배추와 청경채로 샤\ufffd브샤브 어떠세요?"),
    ("text.left_over", "쌈배추와 청경채로 {dish} 어떠세요?"),
    ("text.left_over", "쌈배추와 청경채로 [요리] 어떠세요?"),
    ("text.left_over", "쌈배추와 청경채로 OO 어떠세요?"),
    ("text.left_over", "쌈배추와 청경채로 샤브샤브 어떠세요?<end_of_turn>"),
    ("text.left_over", "추천 사유: 쌈배추와 청경채로 샤브샤브 어떠세요?"),
    ("text.left_over", "reason_item 청경채와 쌈배추로 샤브샤브 어떠세요?"),
    ("text.foreign_script", "쌈배추와 청경채로 火锅 어떠세요?"),
    ("text.foreign_script", "쌈배추와 청경채로 しゃぶ 샤브샤브 어떠세요?"),
    # the same words again
    ("repetition.within_text", "쌈배추와 청경채로 샤브 샤브 샤브 샤브 어떠세요?"),
    ("repetition.within_text", "쌈배추와 청경채가 좋아요. 쌈배추와 청경채가 좋아요."),
]


@pytest.mark.parametrize(("code", "text"), BAD_TEXTS)
def test_a_bad_text_is_caught_by_its_own_code_alone(code: str, text: str) -> None:
    assert codes(written(text)) == [code]


WHOLE = answer("쌈배추와 청경채로 따뜻한 샤브샤브 어떠세요?")

BAD_ANSWERS = [
    ("json.cut_off", WHOLE[:30], "length"),
    ("json.cut_off", WHOLE[:-1], "length"),
    ("json.cut_off", '{"decision": "write", "te', "length"),
    ("json.invalid", WHOLE[:30], "stop"),
    ("json.invalid", WHOLE.replace('"', "'"), "stop"),
    ("json.invalid", "쌈배추와 청경채로 따뜻한 샤브샤브 어떠세요?", "stop"),
    ("json.invalid", "```json\n" + WHOLE, "stop"),
    ("json.invalid", WHOLE.replace("따뜻한 ", "따뜻한\n"), "stop"),
    ("json.invalid", "", "stop"),
    ("json.invalid", "[" * 20_000, "stop"),
    ("json.not_an_object", f"[{WHOLE}]", "stop"),
    ("json.not_an_object", '"write"', "stop"),
    ("json.trailing_text", WHOLE + " 도움이 되셨길 바라요", "stop"),
    ("json.trailing_text", WHOLE + WHOLE, "length"),
    ("json.trailing_text", WHOLE + "<end_of_turn>", "stop"),
    ("json.wrong_keys", '{"decision": "write", "reason": "쌈배추와 청경채예요"}', "stop"),
    ("json.wrong_keys", '{"decision": "write"}', "stop"),
    ("json.wrong_keys", WHOLE[:-1] + ', "dish": "샤브샤브"}', "stop"),
    ("json.wrong_keys", '{"text": "쌈배추와 청경채예요"}', "stop"),
    ("json.duplicate_keys", WHOLE[:-1] + ', "text": "어때요?"}', "stop"),
    ("json.wrong_decision", WHOLE.replace('"write"', '"skip"'), "stop"),
    ("json.wrong_decision", '{"decision": "skip"}', "stop"),
    ("json.wrong_decision", WHOLE.replace('"write"', "true"), "stop"),
    ("json.text_not_a_string", '{"decision": "write", "text": null}', "stop"),
    ("json.text_not_a_string", '{"decision": "write", "text": ["쌈배추와 청경채예요"]}', "stop"),
    ("json.broken_character", '{"decision": "write", "text": "쌈배추와 청경채예요\\ud83d"}', "stop"),
]


@pytest.mark.parametrize(("code", "whole", "finish_reason"), BAD_ANSWERS)
def test_an_answer_that_is_no_such_object_has_no_text(code: str, whole: str, finish_reason: str) -> None:
    verdict = judge(Written(whole, finish_reason, "쌈배추(봉)", "청경채(봉)", ()))
    assert [failure.code for failure in verdict.failures] == [code]
    assert verdict.text is None
    verdict.failures[0].evidence.encode()  # can be stored


def test_blanks_round_the_object_are_no_fault_even_at_the_token_limit() -> None:
    assert codes(Written(f" {WHOLE}\n\n ", "length", "쌈배추(봉)", "청경채(봉)", ())) == []


def test_the_text_is_published_composed_and_stripped() -> None:
    decomposed = "쌈배추와 청경채로 샤브샤브 어떠세요?".encode().decode()
    import unicodedata

    verdict = judge(written("  " + unicodedata.normalize("NFD", decomposed) + " "))
    assert verdict == Verdict(decomposed, ())


def test_everything_that_is_wrong_is_named() -> None:
    assert codes(written("두부를 넣은 국물이 시원하다 010-1234-5678")) == [
        "speech.not_haeyo",
        "names.recommended_missing",
        "names.reason_missing",
        "names.other_item",
        "content.contact",
    ]


def test_evidence_shows_what_was_seen() -> None:
    (failure,) = judge(written("쌈배추와 청경채는 잘 어울려요. 같이 끓여 먹자.")).failures
    assert failure.evidence == "같이 끓여 먹자"


def test_what_the_items_own_names_hold_is_no_fault_of_the_text() -> None:
    row = written("저당 다이어트 시리얼과 우유로 아침을 열어요", "저당 다이어트 시리얼 300g", "1+1 서울우유 900mL")
    assert codes(row) == []
    assert codes(written("大왕 오징어와 양파를 볶아 보세요", "大왕 오징어 1미", "햇 양파 1.5kg")) == []


def test_an_item_of_the_basket_may_be_named() -> None:
    text = "쌈배추와 청경채, 두부를 넣은 샤브샤브 어떠세요?"
    assert codes(written(text, basket=("청경채(봉)", "국산콩 두부 300g"))) == []


def test_one_text_for_many_different_pairs_is_refused() -> None:
    text = "오늘은 고소한 우유와 시리얼, 두부, 양파, 감자를 함께 먹어요"
    items = ("서울우유 900mL", "시리얼 500g", "두부 300g", "양파 1kg", "감자 1kg")
    pairs = [(a, b) for a in items for b in items if a < b]
    few = check_written([written(text, *pair) for pair in pairs[:3]])
    many = check_written([written(text, *pair) for pair in pairs[:4]])
    assert all(verdict.failures == () for verdict in few)
    assert [[f.code for f in verdict.failures] for verdict in many] == [["repetition.same_text"]] * 4


def test_texts_beside_make_one_the_same_for_many_and_are_not_judged() -> None:
    text = "오늘은 고소한 우유와 시리얼, 두부, 양파, 감자를 함께 먹어요"
    pairs = [("서울우유 900mL", reason) for reason in ("시리얼 500g", "두부 300g", "양파 1kg", "감자 1kg")]
    rows = [written(text, *pair) for pair in pairs]
    (verdict,) = check_written(rows[:1], beside=rows[1:])
    assert [failure.code for failure in verdict.failures] == ["repetition.same_text"]
    (verdict,) = check_written(rows[:1], beside=rows[2:])
    assert verdict.failures == ()


def test_one_text_for_several_listings_of_the_same_two_things_is_not() -> None:
    listings = [f"{brand} 우유 {size}" for brand in ("서울", "매일") for size in ("500mL", "900mL", "1L")]
    rows = [written("시리얼엔 역시 우유죠", listing, "시리얼 500g") for listing in listings]
    assert all(verdict.failures == () for verdict in check_written(rows))


def test_verdicts_come_in_the_rows_order_and_again_the_same() -> None:
    rows = [written(text, a, b) for text, a, b in GOOD] + [written(text) for _, text in BAD_TEXTS]
    first = check_written(rows, CATALOGUE)
    assert first == check_written(rows, CATALOGUE) == [judge(row) for row in rows]
    assert check_written([], CATALOGUE) == []


def test_importing_the_rules_does_not_load_the_analyser() -> None:
    ask = "import sys, checks.rows; sys.exit('kiwipiepy' in sys.modules)"
    subprocess.run([sys.executable, "-c", ask], check=True)
