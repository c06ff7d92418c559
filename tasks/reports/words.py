"""What the reports say, in English and in Korean, side by side so that neither can lack a sentence.

Names and numbers go into the braces with `str.format`; nothing here is HTML.
"""

from typing import Literal

Language = Literal["en", "ko"]

WORDS: dict[str, tuple[str, str]] = {
    # -- the verdict
    "title": ("Recommendation reasons of {ds}", "{ds} 추천사유"),
    "published": ("Published", "게시됨"),
    "published_warned": ("Published with warnings", "경고와 함께 게시됨"),
    "published_approved": ("Published by approval", "승인을 받아 게시됨"),
    "held_back": ("Held back", "보류됨"),
    "not_published": ("Passed the gate, not published", "게이트 통과, 게시 안 됨"),
    "passed_of": ("{passed} reasons passed of {candidates} candidates.", "후보 {candidates}건 중 {passed}건 통과."),
    "serving_as_it_was": (
        'The serving table is as it was. `sayu approve --ds {ds} --reason "…"` publishes it after all; after a rule '
        "or a threshold changed, `sayu recheck --ds {ds}` judges again without the model.",
        '서빙 테이블은 그대로입니다. 그래도 게시하려면 `sayu approve --ds {ds} --reason "…"`, 규칙이나 기준을 '
        "바꾼 뒤 모델 없이 다시 판정하려면 `sayu recheck --ds {ds}`를 실행하세요.",
    ),
    "publish_with": ("`sayu daily --ds {ds}` publishes it.", "게시하려면 `sayu daily --ds {ds}`를 실행하세요."),
    "approved_by": ("Approved by {who}: {reason}", "승인: {who}, 사유: {reason}"),
    "withdrawn": ("Withdrawn", "철회됨"),
    "all_dates": ("all dates", "모든 날짜"),
    # -- what to look at
    "look_at": ("What to look at", "먼저 볼 것"),
    "nothing_to_look_at": (
        "Nothing stands out. Read the published texts below.",
        "특이 사항이 없습니다. 아래 게시된 글을 읽어 보세요.",
    ),
    "failed_check": (
        "does not hold: {description} (seen: {observed})",
        "지켜지지 않음: {description} (관측: {observed})",
    ),
    "critical": ("critical", "치명"),
    "warning": ("warning", "경고"),
    "info": ("note", "참고"),
    "look_rule": (
        "{pairs} of {written} written texts ({share:.1%}) fail {code}: {meaning}",
        "작성된 글 {written}건 중 {pairs}건({share:.1%})이 {code}에 걸림: {meaning}",
    ),
    "look_failed": ("{pairs} pairs got no answer: {reason}", "{pairs}쌍이 답을 받지 못함: {reason}"),
    "look_near": (
        "{pairs} of {decided} decisions ({share:.1%}) lie within {width:g} of the threshold",
        "결정 {decided}건 중 {pairs}건({share:.1%})이 기준값에서 {width:g} 안에 있음",
    ),
    "look_cache": (
        "the prefix cache gave only {share:.0%} of what it could have: {evicted} prompt tokens were read again "
        "because their KV was gone; give the engine more KV room, or lower chunk_pairs or chunks_in_flight",
        "프리픽스 캐시가 가능한 것의 {share:.0%}만 찾음: KV가 밀려나 프롬프트 토큰 {evicted}개를 다시 읽음. "
        "엔진의 KV 공간을 늘리거나 chunk_pairs, chunks_in_flight를 줄이세요",
    ),
    "look_preempted": (
        "{preemptions} answers were interrupted for want of KV room and begun again; lower chunks_in_flight",
        "KV 공간이 모자라 답 {preemptions}건이 중단되었다가 다시 시작됨. chunks_in_flight를 줄이세요",
    ),
    "look_part": (
        "{kind} {name}: skip rate {observed:.0%} against {expected:.0%}, over {pairs} pairs",
        "{kind} {name}: 건너뛴 비율 {observed:.0%} (기준 {expected:.0%}, {pairs}쌍)",
    ),
    "part_category": ("category", "카테고리"),
    "part_model": ("model", "모델"),
    "part_prompt": ("prompt", "프롬프트"),
    "no_category": ("(none)", "(없음)"),
    # -- outcomes
    "what_became": ("What became of every candidate", "후보별 결과"),
    "outcome": ("outcome", "결과"),
    "pairs": ("pairs", "쌍"),
    "share": ("share", "비율"),
    "rows": ("rows", "행"),
    "rows_read": ("read", "보기"),
    "rows_csv": ("CSV (zip)", "CSV (zip)"),
    "candidates": ("candidates", "후보"),
    "outcome_published": ("published", "게시"),
    "outcome_published_held": ("passed", "통과"),
    "outcome_skipped": ("skipped", "건너뜀"),
    "outcome_screened": ("screened", "사전 제외"),
    "outcome_ranked_out": ("ranked out", "순위 밖"),
    "outcome_rejected": ("rejected", "검사 탈락"),
    "outcome_failed": ("failed", "실패"),
    "means_published": ("written, checked, passed", "작성되어 검사를 통과함"),
    "means_skipped": ("the model said skip", "모델이 건너뛰라고 함"),
    "means_screened": ("a rule said no before the model", "모델에 묻기 전에 규칙으로 제외"),
    "means_ranked_out": ("another reason item was worth more", "다른 사유 상품이 더 나음"),
    "means_rejected": ("written, but failed its checks", "작성했으나 검사에서 탈락"),
    "means_failed": ("no answer from the engine", "엔진이 답하지 않음"),
    "sums": (
        "{reused} reused from the result store, {calls} model calls",
        "저장된 결과 재사용 {reused}건, 모델 호출 {calls}건",
    ),
    "way": ("From candidate to reason", "후보에서 추천사유까지"),
    "way_note": ("Skip rate of the pairs that were decided: {rate}", "결정된 쌍 중 건너뛴 비율: {rate}"),
    # -- charts
    "skip_history": ("Skip rate by date", "날짜별 건너뛴 비율"),
    "skip_rate": ("skip rate", "건너뛴 비율"),
    "no_reference": ("no reference yet", "아직 비교할 기준이 없습니다"),
    "history_note": (
        "Line: skip rate of each date's latest run; shaded: where it was expected; hollow: dates not published.",
        "선: 날짜별 최근 실행의 건너뛴 비율, 음영: 예상 범위, 빈 점: 게시되지 않은 날짜.",
    ),
    "lengths": ("Length of the written texts", "작성된 글의 길이"),
    "length_axis": ("characters", "글자 수"),
    "lengths_note": (
        "As a reader counts them; the line is the limit of {limit}.",
        "눈에 보이는 글자 수. 선은 한도 {limit}자.",
    ),
    "p_skip": ("p(skip) of the decisions", "결정의 p(skip)"),
    "p_skip_note": (
        "{near} of {decided} lie within {width:g} of the threshold {threshold:g} (the line).",
        "{decided}건 중 {near}건이 기준값 {threshold:g}(선)에서 {width:g} 안에 있음.",
    ),
    "date": ("date", "날짜"),
    # -- checks, rules, rows
    "checks": ("Checks of the date", "날짜 검사"),
    "must_hold": ("what must hold", "지켜야 할 것"),
    "severity": ("severity", "심각도"),
    "name": ("name", "이름"),
    "checks_hold": ("{holding} of {all} checks hold", "검사 {all}개 중 {holding}개 통과"),
    "seen": ("seen", "관측"),
    "data_docs": ("Great Expectations' own pages", "Great Expectations 문서"),
    "by_rule": ("Texts that failed, by rule", "규칙별 탈락한 글"),
    "by_rule_note": (
        "Share of the {written} written texts; a text can fail several rules.",
        "작성된 글 {written}건에 대한 비율. 한 글이 여러 규칙에 걸릴 수 있음.",
    ),
    "none_rejected": ("No written text failed a check.", "검사에서 탈락한 글이 없습니다."),
    "all_rows": ("all rows", "전체 행"),
    "to_read": ("To read: published texts", "읽어 보기: 게시된 글"),
    "to_read_held": ("To read: texts that passed", "읽어 보기: 검사를 통과한 글"),
    "others": ("To read: the other pairs", "읽어 보기: 그 밖의 쌍"),
    "drawn": ("{shown} of {all}, drawn at random", "{all}건 중 무작위 {shown}건"),
    "recommended": ("recommended", "추천 상품"),
    "because_of": ("because of", "사유 상품"),
    "basket": ("basket", "장바구니"),
    "text": ("text", "글"),
    "why": ("why", "이유"),
    "candidate": ("candidate", "후보 번호"),
    "rows_note": (
        "{shown} of {all} rows; all of them: ", "{all}행 중 {shown}행. 전체: "
    ),
    "back": ("back to the day", "하루 보고서로"),
    # -- tokens and time
    "tokens_time": ("Tokens and time of this run", "이번 실행의 토큰과 시간"),
    "stage": ("stage", "단계"),
    "prompt_tokens": ("prompt tokens", "프롬프트 토큰"),
    "computed": ("computed", "계산"),
    "cached": ("found in the cache", "캐시 적중"),
    "generated": ("written", "생성"),
    "seconds": ("seconds", "초"),
    "predicted_line": (
        "The engine took {seconds:.1f} s and read {computed} prompt tokens; predicted were {seconds_before:.1f} s and "
        "{computed_before}.",
        "엔진 {seconds:.1f}초, 읽은 프롬프트 토큰 {computed}개. 예측: {seconds_before:.1f}초, {computed_before}개.",
    ),
    "cache_title": ("What became of the prompt tokens", "프롬프트 토큰의 내역"),
    "cache_prompt": ("prompt tokens, order {order}", "프롬프트 토큰, 순서 {order}"),
    "cache_cached": ("found in the cache", "캐시에서 찾음"),
    "cache_first_time": ("computed: seen for the first time (the floor)", "계산: 처음 나옴(하한)"),
    "cache_remainder": ("computed: remainder of a block", "계산: 블록의 나머지"),
    "cache_evicted": ("computed: seen before, but evicted", "계산: 나왔었지만 밀려남"),
    "cache_note": (
        "{times} × the floor was computed; {share} of what could be found again was found. Blocks of {block} tokens, "
        "room for {room}; {preemptions} preemptions. By chunk:",
        "하한의 {times}배를 계산함. 다시 찾을 수 있던 것의 {share}를 찾음. 블록 {block}토큰, 공간 {room}토큰, "
        "선점 {preemptions}회. 청크별:",
    ),
    "run_line": (
        "run {key} · model {model} · prompt {prompt} · engine {engine} · threshold {threshold:g}",
        "실행 {key} · 모델 {model} · 프롬프트 {prompt} · 엔진 {engine} · 기준값 {threshold:g}",
    ),
    "serving": ("serving file", "서빙 파일"),
    # -- the index
    "index_title": ("Recommendation reasons: all dates", "추천사유: 모든 날짜"),
    "index_note": (
        "Each date's latest run. ✓ holds, ! a warning, ✗ holds the date back; a cell leads to its check. Live: the "
        "number of the publication that readers see, in brackets where another run made it.",
        "날짜별 최근 실행. ✓ 통과, ! 경고, ✗ 보류 사유. 칸을 누르면 해당 검사로 이동. 게시 중: 독자가 보는 "
        "게시 번호, 다른 실행의 것이면 괄호 안에.",
    ),
    "verdict": ("verdict", "판정"),
    "live": ("live", "게시 중"),
    "live_this": ("#{id}", "#{id}"),
    "live_other": ("(#{id})", "(#{id})"),
    "month_line": (
        "Dates: {published} published, {held} held back, {missing} without a finished run",
        "게시 {published}일, 보류 {held}일, 실행 없음 {missing}일",
    ),
    "no_run": ("no finished run", "끝난 실행 없음"),
    "reasons": ("reasons", "추천사유"),
    "weekdays": ("Mo Tu We Th Fr Sa Su", "월 화 수 목 금 토 일"),
    "nothing_yet": ("No run has finished yet.", "끝난 실행이 아직 없습니다."),
}  # fmt: skip

# What each code of a failed row rule means to a reader.
RULES: dict[str, tuple[str, str]] = {
    "json.cut_off": ("cut off at the token limit", "토큰 한도에서 잘림"),
    "json.invalid": ("no valid JSON", "올바른 JSON이 아님"),
    "json.not_an_object": ("JSON, but no object", "JSON 객체가 아님"),
    "json.trailing_text": ("something stands behind the JSON", "JSON 뒤에 다른 글이 있음"),
    "json.duplicate_keys": ("a key stands twice", "같은 키가 두 번 나옴"),
    "json.wrong_keys": ("keys are missing or unknown", "키가 없거나 다름"),
    "json.wrong_decision": ("the decision is not `write`", "결정이 `write`가 아님"),
    "json.text_not_a_string": ("the text is no string", "글이 문자열이 아님"),
    "json.broken_character": ("half a character", "깨진 문자가 있음"),
    "text.empty": ("the text is empty", "글이 비어 있음"),
    "text.too_long": ("longer than 50 characters", "50자를 넘음"),
    "text.too_many_sentences": ("more than two sentences", "두 문장을 넘음"),
    "text.left_over": ("left-over template text", "템플릿 글이 남음"),
    "text.control_character": ("a control character", "제어 문자가 있음"),
    "text.markup": ("markup", "마크업이 있음"),
    "text.foreign_script": ("a foreign script", "다른 문자가 섞임"),
    "speech.not_haeyo": ("a sentence that is not in 해요체", "해요체가 아닌 문장"),
    "names.recommended_missing": ("does not name the recommended item", "추천 상품 이름이 없음"),
    "names.reason_missing": ("does not name the reason item", "사유 상품 이름이 없음"),
    "names.other_item": ("names an item that is not in the input", "입력에 없는 상품을 말함"),
    "content.contact": ("contact details", "연락처"),
    "content.link": ("a link", "링크"),
    "content.price": ("a price or an offer", "가격이나 할인"),
    "content.health": ("a claim about health or effect", "건강·효능 주장"),
    "content.profanity": ("profanity", "비속어"),
    "content.banned": ("a banned word", "금지어"),
    "repetition.same_text": ("the same text for many pairs", "여러 쌍에 같은 글"),
    "repetition.within_text": ("repeats itself", "글 안에서 되풀이"),
    "missing_id": ("an item's id is missing", "상품 번호가 없음"),
    "empty_name": ("an item's name is empty", "상품 이름이 비어 있음"),
    "same_item": ("both items are the same", "두 상품이 같음"),
}


def words(language: Language) -> dict[str, str]:
    """Every sentence of the reports in one language, by its name."""
    return {name: pair[language == "ko"] for name, pair in WORDS.items()}


def meaning(code: str, language: Language) -> str:
    """What a rule's code means; empty for one that is not known here."""
    return RULES.get(code, ("", ""))[language == "ko"]
