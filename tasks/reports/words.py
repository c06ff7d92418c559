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
    "look_sample": (
        "of {decided} pairs that the rule {rule} would turn away the model wrote {share:.0%}: is the rule right? "
        "It saw {hits} pairs",
        "규칙 {rule}이(가) 제외할 쌍 {decided}건을 모델에 물었더니 {share:.0%}를 작성함. 규칙이 맞나요? "
        "이 규칙에 걸린 쌍 {hits}건",
    ),
    "look_category": (
        "the shop has no category {category}, which the group {group} of the rules names (line {line})",
        "규칙의 묶음 {group}이(가) 말하는 카테고리 {category}이(가) 쇼핑몰에 없음({line}행)",
    ),
    "look_budget": (
        "the engine's budget of {minutes:g} minutes is spent: {texts} failed texts were not asked for {most} times",
        "엔진 예산 {minutes:g}분을 다 씀: 탈락한 글 {texts}건은 {most}번까지 다시 요청하지 못함",
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
    "again_title": ("Texts that were asked for again", "다시 요청한 글"),
    "again_failed": (
        "{texts} texts failed their checks at first: {became}.",
        "처음에 검사에서 탈락한 글 {texts}건: {became}.",
    ),
    "again_mended": ("{texts} passed at attempt {attempt}", "{attempt}번째 시도에서 {texts}건 통과"),
    "again_failing": ("{texts} passed at none", "{texts}건은 끝내 탈락"),
    "again_took": (
        "Asking again took {calls} calls: {computed} prompt tokens computed, {cached} found in the cache, {generated} "
        "tokens written, {share:.1%} of all that the engine computed and wrote.",
        "다시 요청하는 데 든 것: 호출 {calls}회, 프롬프트 토큰 계산 {computed}개, 캐시 적중 {cached}개, "
        "생성 {generated}개. 엔진이 계산하고 생성한 토큰의 {share:.1%}.",
    ),
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
    # -- the rules before the model
    "screen_rules": ("Rules before the model", "모델에 묻기 전의 규칙"),
    "screen_rules_note": (
        "The first rule that rejects decides. A sample of what it would turn away goes on all the same, and the share "
        "of it that the model wrote says whether the rule is right.",
        "먼저 걸린 제외 규칙이 결정함. 제외할 쌍 가운데 일부는 표본으로 그대로 모델에 묻고, 그중 작성된 비율로 규칙이 "
        "맞는지 봄.",
    ),
    "no_rules": ("No rule was applied.", "적용된 규칙이 없습니다."),
    "rule": ("rule", "규칙"),
    "effect": ("effect", "처리"),
    "effect_reject": ("turns away", "제외"),
    "effect_warn": ("warns", "경고"),
    "rule_hits": ("pairs seen", "걸린 쌍"),
    "calls_saved": ("model calls saved", "아낀 모델 호출"),
    "sample": ("sample", "표본"),
    "sample_written": ("of it written", "표본 중 작성"),
    # -- what was found in the result store
    "hits": ("Found in the result store", "저장된 결과에서 찾은 것"),
    "hits_line": (
        "{found} of {pairs} pairs needed nothing from the model",
        "{pairs}쌍 중 {found}쌍은 모델에 물을 필요가 없었음",
    ),
    "hits_by_pair": ("; a pair's basket does not matter (reuse_key = pair)", ". 장바구니는 무관(reuse_key = pair)"),
    "hits_fresh": ("; what is older than {since} was ignored", ". {since} 전의 결과는 쓰지 않음"),
    "hits_what": ("what is stored, by its age", "저장된 결과와 그 나이"),
    "hits_passed": ("passed", "통과"),
    "hit_found_today": ("found, under a day old", "찾음: 하루 미만"),
    "hit_found_week": ("found, 1 to 7 days", "찾음: 1~7일"),
    "hit_found_month": ("found, 8 to 30 days", "찾음: 8~30일"),
    "hit_found_older": ("found, over 30 days", "찾음: 30일 초과"),
    "hit_decided": ("decided before, text still to be written", "결정만 있고 글은 다시 써야 함"),
    "hit_expired": ("too old, asked anew", "오래되어 다시 물음"),
    "hit_ignored": ("ignored because of fresh, asked anew", "fresh 설정으로 쓰지 않고 다시 물음"),
    "hit_never": ("never asked before", "물은 적 없음"),
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
    "rank_line": (
        "ranked by {by}: places an item {per_item}, a date {per_date}; days of baskets {days}; model {model}",
        "순위 기준 {by}: 상품별 자리 {per_item}, 하루 자리 {per_date}, 장바구니 일수 {days}, 모델 {model}",
    ),
    "serving": ("serving file", "서빙 파일"),
    # -- the waterfall
    "waterfall": ("What the model was spared, and what it cost", "모델에 묻지 않은 것과 물은 것"),
    "step": ("step", "단계"),
    "left": ("left", "남음"),
    "calls": ("model calls", "모델 호출"),
    "engine_seconds": ("engine seconds", "엔진 초"),
    "saved_asked": (
        "Not asked: what these pairs would have cost, at the average of those that this run asked",
        "묻지 않음: 이번 실행이 물은 쌍의 평균으로 본 절약량",
    ),
    "saved_stored": (
        "Not asked: what these pairs would have cost, at the average of those that were found stored",
        "묻지 않음: 저장되어 있던 쌍의 평균으로 본 절약량",
    ),
    "saved_unknown": ("Not asked: what these pairs would have cost is not known", "묻지 않음: 절약량은 알 수 없음"),
    "saved_all": ("not asked, in all", "묻지 않음 합계"),
    "made": ("Asked: what these pairs did cost", "물음: 실제로 든 비용"),
    "made_all": ("asked, in all", "물음 합계"),
    "all_asked": ("every candidate", "모든 후보"),
    "costs_seconds": (
        "Engine seconds that all candidates would have taken: saved (grey) and spent",
        "모든 후보를 물었을 때의 엔진 초: 절약(회색)과 사용",
    ),
    "costs_tokens": (
        "Tokens that all candidates would have taken, a generated one counted twice: saved (grey) and spent",
        "모든 후보를 물었을 때의 토큰(생성 토큰은 두 배로 셈): 절약(회색)과 사용",
    ),
    "waterfall_note": (
        "Each pair stands where it left the way. A call is a request that was answered. The engine's measured "
        "{seconds} seconds are shared out by tokens: a generated one counts as {weight} computed prompt tokens.",
        "각 쌍은 나간 단계에 한 번씩 셈. 호출은 답을 받은 요청. 측정한 엔진 {seconds}초를 토큰으로 나누며, 생성 토큰 "
        "하나는 계산한 프롬프트 토큰 {weight}개로 셈.",
    ),
    "step_candidates": ("candidates", "후보"),
    "step_screened": ("screened", "사전 제외"),
    "step_reused": ("reused", "재사용"),
    "step_decision_reused": ("decision reused", "결정만 재사용"),
    "step_ranked_out": ("ranked out", "순위 밖"),
    "step_duplicate": ("duplicate", "중복"),
    "step_not_asked": ("failed unasked", "묻지 않고 실패"),
    "step_asked": ("asked", "모델에 물음"),
    "step_skipped": ("decided skip", "건너뛰기로 결정"),
    "step_failed": ("failed", "실패"),
    "step_written": ("written", "작성"),
    "step_asked_again": ("asked again", "다시 물음"),
    "step_rejected": ("rejected", "검사 탈락"),
    "does_screened": ("a rule said no before the model", "모델에 묻기 전에 규칙으로 제외"),
    "does_reused": ("all they needed was stored: {became}", "필요한 것이 모두 저장되어 있음: {became}"),
    "does_decision_reused": (
        "{touched} of those that go on had their decision stored and need the text alone",
        "남은 쌍 중 {touched}쌍은 결정이 저장되어 있어 글만 필요함",
    ),
    "does_ranked_out": ("another reason item was worth more", "다른 사유 상품이 더 나음"),
    "does_duplicate": ("the same is asked for another pair: {became}", "같은 것을 다른 쌍이 물음: {became}"),
    "does_not_asked": ("held back before the model, or nothing may be asked", "모델 전에 보류되었거나 물을 수 없음"),
    "does_skipped": ("the model said skip", "모델이 건너뛰라고 함"),
    "does_failed": ("no answer from the engine", "엔진이 답하지 않음"),
    "does_asked_again": (
        "{touched} texts failed their checks at first: {mended} mended, {failing} not",
        "처음에 검사에서 탈락한 글 {touched}건: {mended}건 통과, {failing}건 탈락",
    ),
    "does_rejected": ("written, but failed its checks", "작성했으나 검사에서 탈락"),
    "does_published": ("written now, checked, passed", "지금 작성되어 검사를 통과함"),
    "short_calls": (
        "{calls} model calls; {spared} pairs spared: {by}",
        "모델 호출 {calls}건, 묻지 않은 쌍 {spared}: {by}",
    ),
    "per_text": (
        "Each text that passed, stored ones included, cost {calls} calls, {computed} computed prompt tokens, "
        "{generated} generated tokens, {seconds} engine seconds{money}.",
        "저장된 것을 포함해 통과한 글 하나에 호출 {calls}회, 계산한 프롬프트 토큰 {computed}, 생성 토큰 {generated}, "
        "엔진 {seconds}초{money}.",
    ),
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
    "text.too_long": ("too many characters", "글자 수 한도를 넘음"),
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
    # the rules of rules/grocery.toml; another rule says its own `why`
    "no_name": (
        "a name that is none: empty, no letter, a placeholder",
        "이름이 아님: 비었거나 글자가 없거나 임시 이름",
    ),
    "same_item": ("both items are the same", "두 상품이 같음"),
    "other_size": ("the same product in another size", "크기만 다른 같은 상품"),
    "test_listing": ("a listing that was put in as a test", "시험 삼아 올린 상품"),
    "contact_in_name": ("contact details in a name", "이름에 연락처가 있음"),
    "link_in_name": ("a link in a name", "이름에 링크가 있음"),
    "tobacco": ("tobacco", "담배"),
    "medicine": ("medicine", "의약품"),
    "adult_goods": ("adult goods", "성인용품"),
    "infant_formula": ("infant formula, whose advertising the law limits", "법으로 광고가 제한된 영아용 조제유·조제식"),
    "food_with_household": ("food with detergents and household goods", "먹거리와 세제·생활용품"),
    "food_with_pets": ("food with pet supplies", "먹거리와 반려동물용품"),
    "food_with_beauty": ("food with cosmetics", "먹거리와 화장품"),
    "rank_per_item": (
        "beyond the places of its recommended item: place / pairs, score",
        "추천 상품별 자리 밖: 순위 / 쌍 수, 점수",
    ),
    "rank_per_date": ("beyond the places of the date: place / pairs, score", "하루 자리 밖: 순위 / 쌍 수, 점수"),
}


def words(language: Language) -> dict[str, str]:
    """Every sentence of the reports in one language, by its name."""
    return {name: pair[language == "ko"] for name, pair in WORDS.items()}


def meaning(code: str, language: Language) -> str:
    """What a rule's code means; empty for one that is not known here."""
    return RULES.get(code, ("", ""))[language == "ko"]
