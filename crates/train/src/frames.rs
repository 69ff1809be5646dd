//! Sentence frames, by kind of question: those of training, and those only the held-out split uses.
//!
//! `{E}` plural noun with its condition in front (`active users`), `{e}` singular, `{W}` condition after the noun
//! (with its leading space), `{c}` a column phrase, `{cs}` a list of them, `{v}` a value, `{n}` a number;
//! `{r1}` and `{r2}` any words at all, which training uses so that an unknown word there is not taken for a name.

/// Frames of training and of the held-out split.
pub struct Frames(pub &'static [&'static str], pub &'static [&'static str]);

/// `SELECT COUNT(*)`.
pub const COUNT: Frames = Frames(
    &[
        "How many {E}{W} are there?",
        "How many {E} are there{W}?",
        "How many {E} do we have{W}?",
        "how many {E}{W}",
        "How many {E} [exist|are listed|are recorded|are in the database|are stored|are available]{W}?",
        "[Count|Please count|Count up] [the |all |all the |]{E}{W}.",
        "What is the [number|total number|count|total count] of {E}{W}?",
        "What's the [number|count] of {E}{W}?",
        "[Find|Give me|Show|Tell me|Return|Get|Compute|Calculate|Report] the [number|total number|count|total count] of {E}{W}.",
        "[number of|count of|count|total] {E}{W}",
        "Can you tell me how many {E}{W} there are?",
        "[I'd like to know|Tell me|I want to know|Find out] how many {E} there are{W}.",
        "How many of the {E} are there{W}?",
        "For how many {E} is there a record{W}?",
        "How many {E} in total{W}?",
        "How many {E}{W} does [the|this|our|your] [file|data|catalogue|{r1}|archive|system|company|business] [have|keep|list|contain|know|include|{r2}]?",
        "What [amount|quantity|tally] of {E} [do we have|exists|is present|can be found|{r1}]{W}?",
        "[Establish|Determine|Check|See|Figure out|{r1}] how many {E}{W} [exist|are present|we have|can be found|are on file|turn up].",
        "[Would|Will|Can] you [tally|number|{r1}] the {E}{W}?",
        "[Overall|All in all|Altogether|At the moment], how many {E}{W} [are there|do we have|can be found|{r1}]?",
        "The {E}{W}: how many [are there|are they|do we have]?",
        "{E}{W}, how many?",
        "[Say|State|{r1}] how many {E}{W} [exist|we have|are kept].",
        "Of {E}{W}, how many [exist|do we have|are kept]?",
        "The [size|extent] of the set of {E}{W}",
    ],
    &[
        "In total, how many {E}{W} does the database hold?",
        "Work out how many {E}{W} there are.",
        "What number of {E} is there{W}?",
        "Could you count the {E}{W} for me?",
    ],
);

/// `SELECT a, b FROM t`.
pub const LIST: Frames = Frames(
    &[
        "[List|Show|Give|Display|Return|Find|Get|Give me|Show me|Print|Report] the {cs} of [all |all the |the |]{E}{W}.",
        "What [are|is] the {cs} of [all |all the |the |]{E}{W}?",
        "[List|Show|Find|Return] [all |all the |the |]{E}{W} with their {cs}.",
        "[List|Show|Give|Display|Find|Return] the {cs} [of|for] [each|every] {e}{W}.",
        "For [each|every] {e}{W}, [show|list|give|return] [the|its] {cs}.",
        "{cs} of [all |the |]{E}{W}",
        "{E}{W}: {cs}",
        "[I need|I want|I'd like|We need] the {cs} of [all |all the |the |]{E}{W}.",
        "Can you [list|show me|give me] the {cs} of [all |the |]{E}{W}?",
        "[Show|List|Give] {cs} for [all |the |]{E}{W}.",
        "What are the {E}' {cs}{W}?",
        "[Select|Fetch|Retrieve] the {cs} from [all |the |]{E}{W}.",
        "Tell me the {cs} of the {E}{W}.",
        "Provide the {cs} of [all |the |]{E}{W}.",
        "What {cs} do the {E} have{W}?",
        "Which {cs} belong to the {E}{W}?",
        "[May I|Can I|Might we|{r1}, can we] [have|get|view|read|know] the {cs} of [the |all |]{E}{W}?",
        "[Note|Jot down|Put up|{r1}|{r1} down|{r1} up] the {cs} [of|for|from|belonging to] [the |all |]{E}{W}.",
        "As for the {E}{W}, [what are|list|show|give] the {cs}.",
        "Among the {E}{W}, [list|what are] the {cs}.",
        "the {E}{W} and their {cs}",
        "[Inspect|Check|Consult|Review|{r1}] the {cs} of the {E}{W}.",
        "With regard to the {E}{W}, [give|state] the {cs}.",
        "{cs}, [for|of] [all|the] {E}{W}.",
        "Which {cs} [have|show] the {E}{W}?",
        "Each {e}{W} with its {cs}",
        "[Say|State|{r1}] what {cs} the {E}{W} have.",
        "{E}{W}, each with {cs}",
    ],
    &[
        "Please look up the {cs} of the {E}{W}.",
        "Could I see the {cs} of the {E}{W}?",
        "Write down the {cs} for the {E}{W}.",
        "Of the {E}{W}, what are the {cs}?",
    ],
);

/// The label column alone.
pub const WHICH: Frames = Frames(
    &[
        "Which {E} are there{W}?",
        "[List|Show|Find|Give me|Show me|Return|Name|Display] [all |all the |the |]{E}{W}.",
        "Which {E}{W} do we have?",
        "What are the {E}{W}?",
        "What {E} are there{W}?",
        "[all |]{E}{W}",
        "Are there {E}{W}? [List|Show|Name] them.",
        "Can you [list|show] the {E}{W}?",
        "[I need|I want] [a list of|to see] the {E}{W}.",
        "Give [a list of|me a list of] [all |the |]{E}{W}.",
        "Who are the {E}{W}?",
        "[Would|Can] you [name|say|tell me|identify|{r1}] the {E}{W}?",
        "[Identify|Enumerate|Mention|{r1}] [all |the |]{E}{W}.",
        "Which {E}{W} [exist|can be found|turn up|do we know|are known|{r1}]?",
        "The {E}{W}, [which are they|what are they|please]?",
        "[Say|State|Let me know] which {E}{W} [exist|we have].",
        "[From|Among] all {E}, the ones{W}",
        "[Say|State|{r1}] which {E}{W} [there are|exist|we have].",
    ],
    &["Please name the {E}{W}.", "Could you look up the {E}{W}?", "Tell me which {E} there are{W}."],
);

/// Appended to a list: ascending order by `{c}`.
pub const ORDER_UP: Frames = Frames(
    &[
        " [sorted|ordered] by {c}",
        " [sorted|ordered] by {c} [ascending|in ascending order|from low to high|from lowest to highest]",
        " in [ascending order|order] of {c}",
        ", lowest {c} first",
        ", [sorted|ordered] by [their |the |]{c}",
        " by increasing {c}",
        ", starting with the [lowest|smallest] {c}",
        " in increasing order of {c}",
        " [lined up|ranked|put in order|queued|{r1}] by {c}",
        ", {c} going up",
        ", the [lowest|smallest] {c} [coming |]first",
        " from the [lowest|smallest] to the [highest|largest] {c}",
        ", {c} ascending",
    ],
    &[" arranged by {c}", ", with the lowest {c} at the top"],
);

/// Appended to a list: descending order by `{c}`.
pub const ORDER_DOWN: Frames = Frames(
    &[
        " [sorted|ordered] by {c} [descending|in descending order|from high to low|from highest to lowest]",
        " in descending order of {c}",
        ", highest {c} first",
        ", [sorted|ordered] by [their |the |]{c} in descending order",
        " by decreasing {c}",
        ", starting with the [highest|largest] {c}",
        " [sorted|ordered] by {c}, [highest|largest] first",
        " [lined up|ranked|put in order|{r1}] by {c} [going down|descending|largest first]",
        ", {c} going down",
        ", the [highest|largest] {c} [coming |]first",
        " from the [highest|largest] to the [lowest|smallest] {c}",
        ", {c} descending",
    ],
    &[" arranged by {c} from high to low", ", with the highest {c} at the top"],
);

/// `SELECT DISTINCT c`.
pub const DISTINCT: Frames = Frames(
    &[
        "What are the [different|distinct|unique|various] {cp} of [the |all |]{E}{W}?",
        "[List|Show|Find|Give|Return] [all |the |all the |][different|distinct|unique] {cp} of [the |]{E}{W}.",
        "What [different|distinct] {cp} do the {E} have{W}?",
        "Which [different |distinct |unique |]{cp} [occur|appear|exist|are used] among [the |]{E}{W}?",
        "[distinct|unique|different] {cp} of {E}{W}",
        "[List|Show] [each|every] {c} of the {E}{W} [once|only once|without duplicates|without repeats].",
        "What kinds of {c} are there among the {E}{W}?",
        "Which {cp} are there among the {E}{W}?",
        "What sorts of {c} do the {E} [show|have|come in|{r1}]{W}?",
        "[Enumerate|Mention|{r1}] the {cp} [that occur|occurring|used] among {E}{W}, [each once|without doubles|no repeats].",
        "[All|The] [different|distinct|separate] {cp} [occurring|present|used] [with|for] the {E}{W}",
        "The {E}{W} [show|have|come with] which [different|distinct] {cp}?",
        "[Say|State|{r1}] which [different |distinct |]{cp} [exist|occur] among the {E}{W}.",
    ],
    &["Name every different {c} found among the {E}{W}.", "What distinct {cp} can be seen in the {E}{W}?"],
);

/// `SELECT COUNT(DISTINCT c)`.
pub const COUNT_DISTINCT: Frames = Frames(
    &[
        "How many [different|distinct|unique] {cp} [are there among|are there for|do] [the |]{E}{W}[ have|]?",
        "How many [different|distinct|unique] {cp} are there among the {E}{W}?",
        "How many [different|distinct|unique] {cp} do the {E} have{W}?",
        "Count the [different|distinct|unique] {cp} of [the |]{E}{W}.",
        "What is the number of [different|distinct|unique] {cp} of [the |]{E}{W}?",
        "number of [distinct|different] {cp} of {E}{W}",
        "[Find|Show|Give] the number of [different|distinct|unique] {cp} among [the |]{E}{W}.",
        "[Across|Over|Among] the {E}{W}, how many [different|distinct|unique] {cp} [are there|exist|do we see|{r1}]?",
        "[Tally|Determine|Establish|{r1}] [how many|the number of] [different|distinct|unique] {cp} there are among the {E}{W}.",
        "[Say|State|{r1}] how many [different|distinct] {cp} the {E}{W} have.",
        "The {E}{W}: how many [different|distinct|unique] {cp}?",
    ],
    &["The {E}{W} have how many distinct {cp}?", "Work out the number of different {cp} of the {E}{W}."],
);

/// An aggregate `{w}` of `{c}`.
pub const AGGREGATE: Frames = Frames(
    &[
        "What is the {w} {c} of [all |the |all the |]{E}{W}?",
        "What's the {w} {c} [of|for] [the |]{E}{W}?",
        "[Find|Show|Give|Return|Calculate|Compute|Get|Tell me|Report] the {w} {c} of [all |the |all the |]{E}{W}.",
        "[Find|Show|Give|What is] the {w} {c} for [all |the |]{E}{W}.",
        "{w} {c} of {E}{W}",
        "What is the {w} {c} among [the |all |]{E}{W}?",
        "[I need|I want|I'd like] the {w} {c} of [the |all |]{E}{W}.",
        "For [the |all |]{E}{W}, what is the {w} {c}?",
        "Can you give me the {w} {c} of the {E}{W}?",
        "Considering [the |all |]{E}{W}, find the {w} {c}.",
        "The {w} {c} of {E}{W}?",
        "[Establish|Check|State|Evaluate|{r1}] the {w} {c} [of|for|over] [the |all |]{E}{W}.",
        "[Over|Among|Considering] [the |all |]{E}{W}, [give|tell|find|{r1}] the {w} {c}.",
        "What {w} {c} do the {E} [have|attain|show|{r1}]{W}?",
        "The {E}{W}: {w} {c}?",
        "How [much|large|high] is the {w} {c} of the {E}{W}?",
        "[From|Within] the {E}{W}, [take|give|{r1}] the {w} {c}.",
        "The {E}{W} have what {w} {c}?",
        "{w} {c}, [over|for] all {E}{W}",
    ],
    &[
        "Work out the {w} {c} of the {E}{W}.",
        "Across the {E}{W}, what {w} {c} is there?",
        "Please determine the {w} {c} for the {E}{W}.",
    ],
);

/// Words for the aggregates.
pub const AVERAGE: Frames = Frames(&["average", "average", "mean", "avg"], &["average", "mean"]);
/// MAX.
pub const MAXIMUM: Frames =
    Frames(&["maximum", "highest", "largest", "max", "greatest", "biggest", "top"], &["maximum", "highest"]);
/// MIN.
pub const MINIMUM: Frames =
    Frames(&["minimum", "lowest", "smallest", "min", "least"], &["minimum", "lowest"]);
/// SUM.
pub const SUM: Frames = Frames(
    &[
        "total",
        "total",
        "sum of the",
        "combined",
        "overall",
        "sum of",
        "summed",
        "total number of",
        "total amount of",
    ],
    &["total", "combined"],
);

/// The row with the highest or lowest `{c}` (`{hi}`); `{oc}` is what is asked.
pub const TOP: Frames = Frames(
    &[
        "What is the {oc} of the {e}{W} with the {hi} {c}?",
        "[Show|Give|Find|Return|Tell me] the {oc} of the {e}{W} [with|having|that has] the {hi} {c}.",
        "What {oc} does the {e}{W} with the {hi} {c} have?",
        "[Find|Get] the {e}{W} with the {hi} {c} and [show|give|return] its {oc}.",
        "{oc} of the {e}{W} with the {hi} {c}",
        "What is the {oc} of the {e} [that has|having] the {hi} {c}{W}?",
        "For the {e}{W} with the {hi} {c}, what is the {oc}?",
        "[Among|From|Out of] the {e} records{W}, pick the one with the {hi} {c} and [give|show] its {oc}.",
        "{oc} for the {e}{W} of {hi} {c}",
        "[Identify|Establish|{r1}] the {oc} of [that|the] {e}{W} [with|of|showing] the {hi} {c}.",
        "The {hi} {c} [belongs to|is that of] a {e}{W} of which {oc}?",
        "The {e}{W} with the {hi} {c} has what {oc}?",
        "[Say|State|{r1}] what {oc} the {e}{W} with the {hi} {c} has.",
        "Going by {c}, what is the {oc} of the {e}{W} with the {hi}?",
    ],
    &[
        "Take the {e}{W} with the {hi} {c}: what is its {oc}?",
        "Look up the {oc} of the {e}{W} whose {c} is the {hi}.",
    ],
);

/// The same when the label is asked.
pub const TOP_WHICH: Frames = Frames(
    &[
        "Which {e}{W} has the {hi} {c}?",
        "[Find|Show|Name|Give|Return] the {e}{W} with the {hi} {c}.",
        "Which {e} has the {hi} {c}{W}?",
        "What {e}{W} has the {hi} {c}?",
        "{e}{W} with the {hi} {c}",
        "Who is the {e}{W} with the {hi} {c}?",
        "What is the {e}{W} with the {hi} {c}?",
        "Which of the {E}{W} has the {hi} {c}?",
        "Who has the {hi} {c} among the {E}{W}?",
        "[Identify|Point out|{r1}] the {e}{W} [with|of|showing] the {hi} {c}.",
        "Which {e}{W} [shows|attains|got|gets|{r1}] the {hi} {c}?",
        "Among the {E}{W}, [who|which] has the {hi} {c}?",
        "The {hi} {c} [belongs to|is found with|is that of] which {e}{W}?",
        "[Say|State|{r1}] which {e}{W} has the {hi} {c}.",
        "Going by {c}, which {e}{W} has the {hi}?",
        "The {e}{W} with the {hi} {c}, [who|which] is it?",
    ],
    &["Of all {E}{W}, which one has the {hi} {c}?", "Tell me the {e}{W} that has the {hi} {c}."],
);

/// With an adjective `{a}` (`oldest`).
pub const TOP_ADJECTIVE: Frames = Frames(
    &[
        "Which {e}{W} is the {a}?",
        "What is the {oc} of the {a} {e}{W}?",
        "[Show|Find|Give|Return] the {oc} of the {a} {e}{W}.",
        "Who is the {a} {e}{W}?",
        "[What|Which] is the {a} {e}{W}?",
        "[Find|Name|Show] the {a} {e}{W}.",
        "{a} {e}{W}",
        "Which {e} is the {a}{W}?",
    ],
    &["Tell me which {e}{W} is the {a}.", "Of all {E}{W}, which one is the {a}?"],
);

/// The `{n}` rows with the highest or lowest `{c}`.
pub const TOP_N: Frames = Frames(
    &[
        "[List|Show|Give|Find] the {ocs} of the {n} {E}{W} with the {hi} {c}.",
        "What are the {ocs} of the {n} {E}{W} with the {hi} {c}?",
        "[Which|What] {n} {E}{W} have the {hi} {c}?",
        "[List|Show|Find|Give me] the {n} {E}{W} with the {hi} {c}.",
        "{top}{n} {E}{W} by {c}",
        "[Show|List] the {top}{n} {E}{W} by {c}.",
        "[Identify|Pick|Choose|{r1}] the {n} {E}{W} [with|showing|of] the {hi} {c}.",
        "The {n} {E}{W} with the {hi} {c}, [please|which are they]?",
        "Which {n} {E}{W} [show|attain|got|{r1}] the {hi} {c}?",
        "[From|Among] the {E}{W}, [which|the] {n} with the {hi} {c}?",
        "Going by {c}, which {n} {E}{W} have the {hi}?",
        "[Say|State|{r1}] which {n} {E}{W} have the {hi} {c}.",
        "The {hi} {c}: which {n} {E}{W} have it?",
    ],
    &["Name the {n} {E}{W} having the {hi} {c}.", "Of the {E}{W}, which {n} have the {hi} {c}?"],
);

/// `SELECT c, COUNT(*) GROUP BY c`.
pub const GROUP_COUNT: Frames = Frames(
    &[
        "How many {E}{W} are there [for|in|per|of] each {c}?",
        "[Show|List|Give|Find|Return] [each|every] {c} and the number of {E}{W}.",
        "[Count|Count the] {E}{W} [for each|by|per] {c}.",
        "For each {c}, how many {E}{W} are there?",
        "What is the number of {E}{W} [per|for each|for every|by] {c}?",
        "[List|Show] [every|each] {c} [with|along with|together with] its number of {E}{W}.",
        "number of {E}{W} [per|by|for each] {c}",
        "How many {E}{W} does each {c} have?",
        "{E}{W} per {c}",
        "Break down the {E}{W} by {c}.",
        "[Show|Give me] the [count|number] of {E}{W} [grouped by|in each|for each] {c}.",
        "What are the different {cp} of {E}{W} and how many are there of each?",
        "Group the {E}{W} by {c} and count them.",
        "[In|For|Within|Under] [each|every] {c}, how many {E} are there{W}?",
        "[Tally|Number|{r1}] the {E}{W} [per|by|for each] {c}.",
        "How are the {E}{W} [spread|distributed|divided] [over|across|among] the {cp}?",
        "How many {E}{W} [fall under|go into|come under|belong to|{r1}] [each|every] {c}?",
        "{c} and number of {E}{W}",
        "[Per|According to|Going by|Depending on] {c}, how many {E}{W} [exist|do we have|can be found|{r1}]?",
        "[Divide|Separate|Sort|{r1}] the {E}{W} [into|along] {cp} and count [them|each].",
        "{c} by {c}, the number of {E}{W}",
        "[Say|State|{r1}] how many {E}{W} [fall into|belong to|are in|have] [each|every] {c}.",
        "[What|Which] {cp} do the {E}{W} have, and how many of each?",
        "[Per|For every] {c}: the number of {E}{W}",
    ],
    &[
        "By {c}, how many {E}{W} are there?",
        "Work out the number of {E}{W} in each {c}.",
        "Please split the number of {E}{W} by {c}.",
    ],
);

/// `SELECT c, AGG(x) GROUP BY c`.
pub const GROUP_AGGREGATE: Frames = Frames(
    &[
        "What is the {w} {x} of [the |]{E}{W} [for|in|per|of] each {c}?",
        "[Show|List|Give|Find] [each|every] {c} and the {w} {x} of its {E}{W}.",
        "[Find|Show|Compute|Give] the {w} {x} of [the |]{E}{W} [per|for each|by|for every] {c}.",
        "For [each|every] {c}, [show|find|what is|give] the {w} {x} of [the |]{E}{W}.",
        "{w} {x} of {E}{W} [per|by|for each] {c}",
        "{w} {x} [per|by] {c}[ of the| for] {E}{W}",
        "How does the {w} {x} of {E}{W} differ [by|between each] {c}?",
        "[Group|Grouping] the {E}{W} by {c}, [show|give] the {w} {x}.",
        "[In|Within|For] [each|every] {c}, what is the {w} {x} of the {E}{W}?",
        "[State|Establish|{r1}] the {w} {x} of the {E}{W} [within each|for every|per] {c}.",
        "{w} {x} of {E}{W}, [by|per] {c}",
        "[Per|According to|Going by|Depending on] {c}, [what is |give |]the {w} {x} of the {E}{W}.",
        "[Say|State|{r1}] for each {c} the {w} {x} of the {E}{W}.",
        "The {E}{W} [have|show] what {w} {x} in each {c}?",
        "{c} and {w} {x} of the {E}{W}",
    ],
    &["By {c}, what is the {w} {x} of the {E}{W}?", "Work out the {w} {x} of the {E}{W} in each {c}."],
);

/// The group with most or fewest rows (`{m}`).
pub const GROUP_TOP: Frames = Frames(
    &[
        "Which {c} has the {m} {E}{W}?",
        "What is the {c} with the {m} {E}{W}?",
        "[Find|Show|Give|Name] the {c} [with|that has] the {m} {E}{W}.",
        "Which {c} [do|of] {E}{W} [occurs|have] the {m}?",
        "{c} with the {m} {E}{W}",
        "In which {c} are there the {m} {E}{W}?",
        "What {c} has the {m} {E}{W}?",
        "Which {c} [covers|includes|accounts for|{r1}] the {m} {E}{W}?",
        "[Identify|Point out|{r1}] the {c} with the {m} {E}{W}.",
        "The {m} {E}{W} are [in|of|under] which {c}?",
        "[Say|State|{r1}] which {c} has the {m} {E}{W}.",
        "Going by {c}, where are the {m} {E}{W}?",
        "The {c} [with|holding|having] the {m} {E}{W}, which is it?",
    ],
    &["Tell me the {c} that has the {m} {E}{W}.", "Of every {c}, which one counts the {m} {E}{W}?"],
);

/// The most common value.
pub const COMMON: Frames = Frames(
    &[
        "What is the most [common|frequent|popular] {c} [among|of] [the |all |]{E}{W}?",
        "Which {c} is [the most common|the most frequent|most common] among [the |]{E}{W}?",
        "[Find|Show] the most [common|frequent] {c} of [the |]{E}{W}.",
        "most [common|frequent] {c} of {E}{W}",
        "What {c} do most {E}{W} have?",
        "The {c} [noted|used|met] the most [with|for] {E}{W}",
    ],
    &["Which {c} comes up most often among the {E}{W}?"],
);

/// The group with the highest or lowest aggregate.
pub const GROUP_BEST: Frames = Frames(
    &[
        "Which {c} has the {hi} {w} {x} of {E}{W}?",
        "What is the {c} with the {hi} {w} {x} of {E}{W}?",
        "[Find|Show] the {c} [with|that has] the {hi} {w} {x} of [the |its |]{E}{W}.",
        "Which {c} of {E}{W} has the {hi} {w} {x}?",
        "{c} of {E}{W} with the {hi} {w} {x}",
        "[Identify|Point out|{r1}] the {c} [with|showing] the {hi} {w} {x} [of|for|among] {E}{W}.",
        "For which {c} is the {w} {x} of the {E}{W} the {hi}?",
        "In which {c} do {E}{W} [have|show|attain] the {hi} {w} {x}?",
        "[Say|State|{r1}] which {c} has the {hi} {w} {x} of {E}{W}.",
        "Going by {c}, where is the {w} {x} of the {E}{W} the {hi}?",
    ],
    &["Tell me the {c} whose {E}{W} have the {hi} {w} {x}."],
);

/// Groups with more than `{n}` rows (`{op}` is `more than`).
pub const HAVING: Frames = Frames(
    &[
        "Which {cp} have {op} {n} {E}{W}?",
        "[List|Show|Find|Give] the {cp} [with|that have|having] {op} {n} {E}{W}.",
        "What are the {cp} [with|that have] {op} {n} {E}{W}?",
        "{cp} with {op} {n} {E}{W}",
        "For which {cp} are there {op} {n} {E}{W}?",
        "[Identify|{r1}] the {cp} [covering|holding|showing] {op} {n} {E}{W}.",
        "Which {cp} [cover|include|come with|{r1}] {op} {n} {E}{W}?",
        "In which {cp} are there {op} {n} {E}{W}?",
        "[Every|Each] {c} [with|having|holding] {op} {n} {E}{W}",
        "[Say|State|{r1}] which {cp} [have|hold|include] {op} {n} {E}{W}.",
        "Going by {c}, where are there {op} {n} {E}{W}?",
    ],
    &["Tell me every {c} that has {op} {n} {E}{W}.", "Name the {cp} counting {op} {n} {E}{W}."],
);

/// Groups by an aggregate.
pub const HAVING_AGGREGATE: Frames = Frames(
    &[
        "Which {cp} have [a|an] {w} {x} of {E} {op} {n}?",
        "[List|Show|Find] the {cp} [whose|where the] {E} have [a|an] {w} {x} {op} {n}.",
        "[List|Show|Find] the {cp} where the {w} {x} of the {E} is {op} {n}.",
        "For which {cp} is the {w} {x} of [the |]{E} {op} {n}?",
        "[Identify|{r1}] the {cp} [with|showing] a {w} {x} of {E} {op} {n}.",
        "In which {cp} do the {E} [attain|show|have] a {w} {x} {op} {n}?",
        "[Say|State|{r1}] which {cp} have a {w} {x} of {E} {op} {n}.",
        "Every {c} with a {w} {x} of its {E} {op} {n}",
    ],
    &["Name each {c} whose {E} have a {w} {x} {op} {n}."],
);

/// Rows above or below the average.
pub const ABOVE: Frames = Frames(
    &[
        "[List|Show|Find|Give] the {ocs} of [the |all |]{E}{W} [with|having|whose {c} is|that have] [a |]{c} {above} [the |]average.",
        "Which {E}{W} have [a |an |]{c} {above} [the |]average?",
        "[List|Show|Find] [the |all |]{E}{W} whose {c} is {above} [the |]average[ {c}|].",
        "What are the {ocs} of [the |]{E}{W} whose {c} is {above} the average[ {c}|]?",
        "{E}{W} with {c} {above} average",
        "[Find|Show] {E}{W} with [a |]{c} {above} the average {c}[ of all {E}|].",
        "Which {E}{W} [show|attain|{r1}] a {c} {above} [the |]average?",
        "[Identify|{r1}] the {E}{W} with a {c} {above} the [mean|average].",
        "The {E}{W} with a {c} {above} [the |]average, which are they?",
        "[Say|State|{r1}] which {E}{W} have a {c} {above} average.",
        "[From|Among] the {E}{W}, those with a {c} {above} [the |]average",
    ],
    &[
        "Tell me which {E}{W} have a {c} {above} the average one.",
        "Name the {E}{W} where the {c} is {above} the mean {c}.",
    ],
);

/// How many rows are above or below the average.
pub const COUNT_ABOVE: Frames = Frames(
    &[
        "How many {E} have [a |an |]{c} {above} [the |]average?",
        "How many {E} are there [with|whose] {c} [is |]{above} the average[ {c}|]?",
        "Count the {E} [with a|with|whose] {c} {above} [the |]average.",
        "What is the number of {E} with [a |]{c} {above} average?",
        "How many {E} [show|attain|{r1}] a {c} {above} [the |]average?",
        "[Tally|{r1}] the {E} with a {c} {above} the [mean|average].",
    ],
    &["Work out how many {E} have a {c} {above} the average one."],
);

/// A share of the rows.
pub const PERCENT: Frames = Frames(
    &[
        "What [percentage|percent|share] of [the |all |]{E} {is}?",
        "[Find|Calculate|Compute|Show|Give] the percentage of {E}{W}.",
        "What is the [percentage|share] of {E}{W}?",
        "percentage of {E}{W}",
        "How many percent of the {E} {is}?",
        "[Establish|State|{r1}] the percentage of {E}{W}.",
        "[In percent|As a percentage], how many {E} {is}?",
        "What [proportion|part|fraction] of the {E} {is}?",
        "[Say|State|{r1}] [what|which] percentage of {E} {is}.",
        "The {E}: [what|which] percentage {is}?",
    ],
    &["Work out the percentage of {E}{W}."],
);

/// A column of one named row (`{v}`).
pub const LOOKUP: Frames = Frames(
    &[
        "What is the {cs} of the {e} [named |called |]{v}?",
        "What is the {cs} of {v}?",
        "[Show|Give|Find|Tell me|Return|Get] the {cs} of the {e} [named |called |]{v}.",
        "[Show|Give|Find|Tell me|Get] the {cs} [of|for] {v}.",
        "What {cs} does the {e} {v} have?",
        "What {cs} does {v} have?",
        "Give the {cs} of {v}, the {e}.",
        "{v}'s {cs}",
        "What is {v}'s {cs}?",
        "{cs} of {v}",
        "[Find|Look for] the {e} {v} and [give|show] its {cs}.",
        "For the {e} {v}, what is the {cs}?",
        "[Consult|Read|Inspect|{r1}] the {cs} of the {e} [named |called |]{v}.",
        "About the {e} {v}: what is the {cs}?",
        "What about the {cs} of the {e} {v}?",
        "the {e} {v}: {cs}",
        "As to the {e} {v}, [give|state|{r1}] the {cs}.",
        "The {e} {v}, what is its {cs}?",
        "[Say|State|{r1}] what {cs} the {e} {v} has.",
        "Of the {e} {v}, [give|name] the {cs}.",
    ],
    &[
        "Look up the {cs} of the {e} {v}.",
        "Please check the {cs} for the {e} {v}.",
        "The {e} {v} has what {cs}?",
    ],
);

/// Relations: children `{R}` of a parent (`{p}` is the noun with its condition or name).
pub const RELATION: Frames = Frames(
    &[
        " of {p}",
        " that belong to {p}",
        " belonging to {p}",
        " for {p}",
        " linked to {p}",
        " of {p}",
        " under {p}",
        " associated with {p}",
        " that have {p}",
        " [tied|attached|assigned|related|allotted|{r1}] to {p}",
        " [from|at|in|with|by] {p}",
        " falling under {p}",
        " {r1} by {p}",
    ],
    &[" connected to {p}", " that go with {p}"],
);

/// Child column and parent column side by side.
pub const PAIRS: Frames = Frames(
    &[
        "[List|Show|Give|Find] the {oc} of each {b} and the {ac} of its {a}.",
        "[Show|List|Give] the {oc} of [every|each] {b} [together with|along with|and] its {a} {ac}.",
        "For [each|every] {b}, [show|give|list] its {oc} and the {ac} of its {a}.",
        "What are the {b} {oc} and {a} {ac} of all {B}?",
        "[List|Show] [all |the |]{B} with their {oc} and the {ac} of their {a}.",
        "[Show|List] each {b} {oc} with the {ac} of the {a}[ it belongs to|].",
        "{b} {oc} and {a} {ac}",
        "What is the {oc} of each {b} and the {ac} of the {a} it belongs to?",
        "[Put|Set|Place|{r1}] the {oc} of [each|every] {b} [beside|with|against] the {ac} of its {a}.",
        "[Each|Every] {b} {oc} with its {a} {ac}, [please|in one list].",
        "{oc} of the {B} and {ac} of the {a} of each",
        "Every {b} with its {oc} and the {ac} of its {a}",
        "The {B}: {oc}, and {ac} of the {a}",
        "[Say|State|{r1}] the {oc} of every {b} and what {ac} its {a} has.",
    ],
    &[
        "Write down every {b} {oc} next to the {ac} of its {a}.",
        "Please pair the {oc} of each {b} with the {ac} of its {a}.",
    ],
);

/// The parent's column for a named child.
pub const PARENT_OF: Frames = Frames(
    &[
        "What is the {ac} of the {a} of [the {b} |]{v}?",
        "[Find|Show|Give|Tell me] the {ac} of the {a} [of|for|that belongs to] the {b} {v}.",
        "To which {a} does the {b} {v} belong? Give its {ac}.",
        "Which {a} {ac} does the {b} {v} have?",
        "What {a} {ac} belongs to [the {b} |]{v}?",
        "What is the {a} {ac} of {v}?",
        "For the {b} {v}, what is the {ac} of its {a}?",
        "[Identify|Read|{r1}] the {ac} of the {a} [of|for] the {b} {v}.",
        "The {b} {v} [belongs to|is under] which {a}? [State|Give] the {ac}.",
        "About the {b} {v}: what {ac} has its {a}?",
        "What {ac} does the {a} of the {b} {v} have?",
        "[Say|State|{r1}] the {ac} of the {a} that the {b} {v} [has|falls under|is with].",
        "The {a} of the {b} {v} has [what|which] {ac}?",
    ],
    &["Look up the {ac} of the {a} connected to the {b} {v}.", "The {b} {v} goes with a {a} of what {ac}?"],
);

/// Number of children for each parent.
pub const CHILDREN: Frames = Frames(
    &[
        "[Show|List|Give|Find] the {ac} of each {a} and the number of its {B}.",
        "For [each|every] {a}, [show|give|list] its {ac} and the number of {B}.",
        "How many {B} does each {a} have? [Show|Give] the {ac} and the [count|number].",
        "How many {B} does each {a} have?",
        "[List|Show] each {a} {ac} with [its|the] number of {B}.",
        "number of {B} [per|for each] {a}",
        "How many {B} are there [per|for each] {a}?",
        "Count the {B} [per|for each|of each] {a}.",
        "What is the number of {B} [for|of] each {a}?",
        "[In|For|Under|Within] [each|every] {a}, how many {B} are there?",
        "[Tally|Number|{r1}] the {B} [per|by|for each] {a}.",
        "How many {B} [belong to|fall under|{r1}] each {a}?",
        "{a} and number of {B}",
        "[Per|According to|Going by|Depending on] {a}, how many {B} [exist|do we have|can be found|{r1}]?",
        "[Say|State|{r1}] how many {B} [belong to|come with|fall under] [each|every] {a}.",
        "The {A} and how many {B} [each has|they have]",
        "Every {a} with the number of its {B}",
        "{a} by {a}, the number of {B}",
    ],
    &["By {a}, how many {B} are there?", "Work out how many {B} go with each {a}."],
);

/// The parent with most or fewest children (`{m}`).
pub const CHILDREN_TOP: Frames = Frames(
    &[
        "Which {a} has the {m} {B}?",
        "What is the {ac} of the {a} with the {m} {B}?",
        "[Find|Show|Give] the {ac} of the {a} [that has|with] the {m} {B}.",
        "[Show|Name|Find] the {a} with the {m} {B}.",
        "Who is the {a} with the {m} {B}?",
        "{a} with the {m} {B}",
        "What {a} has the {m} {B}?",
        "[Identify|Point out|{r1}] the {a} with the {m} {B}.",
        "Which {a} [owns|covers|gets|shows|includes|{r1}] the {m} {B}?",
        "Among the {A}, [who|which] has the {m} {B}?",
        "The {m} {B} [belong to|are with] which {a}?",
        "[Say|State|{r1}] which {a} has the {m} {B}.",
        "The {a} [with|having|owning] the {m} {B}, [who|which] is it?",
        "Going by {B}, which {a} has the {m}?",
    ],
    &["Tell me the {a} that has the {m} {B}.", "Of all {A}, which one has the {m} {B}?"],
);

/// Parents with more than `{n}` children.
pub const CHILDREN_HAVING: Frames = Frames(
    &[
        "Which {A} have {op} {n} {B}?",
        "[List|Show|Find|Give] the {acp} of [the |all |]{A} [with|that have|having] {op} {n} {B}.",
        "What are the {acp} of the {A} [with|that have] {op} {n} {B}?",
        "{A} with {op} {n} {B}",
        "[Find|Show|Name] [the |all |]{A} [with|that have] {op} {n} {B}.",
        "Which {A} [own|get|cover|include|come with|{r1}] {op} {n} {B}?",
        "[Identify|{r1}] [the |all |]{A} [with|holding] {op} {n} {B}.",
        "[Every|Each] {a} [with|having|holding] {op} {n} {B}",
        "[Say|State|{r1}] which {A} have {op} {n} {B}.",
        "[From|Among] the {A}, those with {op} {n} {B}",
    ],
    &["Tell me which {A} have {op} {n} {B}.", "Name the {A} counting {op} {n} {B}."],
);

/// Parents without children.
pub const NONE: Frames = Frames(
    &[
        "Which {A} have no {B}?",
        "[List|Show|Find|Give] the {acp} of [the |all |]{A} [without|that have no|with no|that do not have any|that don't have any] {B}.",
        "What are the {acp} of the {A} [without|that do not have|with no] {B}?",
        "{A} without [any |]{B}",
        "[Find|Show|List|Name] [the |all |]{A} [without any|that have no|with no|that never had any|that do not have] {B}.",
        "Which {A} do not have any {B}?",
        "Which {A} [got|show|come with|own|{r1}] no {B}?",
        "[Identify|{r1}] [the |all |]{A} [lacking|missing|without] {B}.",
        "For which {A} [do we know|do we have|exist] no {B}?",
        "[Say|State|{r1}] which {A} have no {B}.",
        "[From|Among] the {A}, those without {B}",
        "The {A} that no {B} [belong to|point to]",
    ],
    &["Tell me which {A} are without {B}.", "Name the {A} for which there are no {B}."],
);

/// How many parents have no children.
pub const COUNT_NONE: Frames = Frames(
    &[
        "How many {A} have no {B}?",
        "How many {A} [do not have any|don't have any|are without] {B}?",
        "Count the {A} [without|that have no|with no] {B}.",
        "What is the number of {A} without {B}?",
        "How many {A} [got|show|own|{r1}] no {B}?",
        "[Tally|{r1}] the {A} lacking {B}.",
        "[Say|State|{r1}] how many {A} have no {B}.",
        "[From|Among] the {A}, how many have no {B}?",
    ],
    &["Work out how many {A} are without {B}."],
);

/// Parents with at least one child.
pub const SOME: Frames = Frames(
    &[
        "Which {A} have [at least one|any|some|a] {b}{W}?",
        "[List|Show|Find|Give] the {acp} of [the |all |]{A} [with|that have|having] [at least one|a|any] {b}{W}.",
        "{A} with [at least one|a] {b}{W}",
        "[Find|Show|Name] [the |all |]{A} that have [a|at least one|any] {b}{W}.",
        "Which {A} [got|show|own|{r1}] [at least one|a|any] {b}{W}?",
        "[Identify|{r1}] the {A} with [at least one|a] {b}{W}.",
        "[Say|State|{r1}] which {A} have [at least one|a|any] {b}{W}.",
        "[From|Among] the {A}, those with [at least one|a|any] {b}{W}",
    ],
    &["Tell me which {A} have at least one {b}{W}.", "Name the {A} for which there is a {b}{W}."],
);

/// An aggregate of the children for each parent.
pub const CHILDREN_AGGREGATE: Frames = Frames(
    &[
        "What is the {w} {x} of the {B} of each {a}?",
        "[Show|List|Give|Find] the {ac} of each {a} and the {w} {x} of its {B}.",
        "For [each|every] {a}, [show|give|find] the {ac} and the {w} {x} of its {B}.",
        "{w} {x} of {B} [per|for each|by] {a}",
        "[Find|Show|Compute] the {w} {x} of the {B} [per|for each|by] {a}.",
        "[In|For|Under] [each|every] {a}, what is the {w} {x} of the {B}?",
        "[State|Establish|{r1}] the {w} {x} of the {B} [within each|per|for each] {a}.",
        "[Per|According to|Going by] {a}, [give |]the {w} {x} of the {B}.",
        "For the {B} of each {a}, what is the {w} {x}?",
        "The {A} and the {w} {x} of their {B}",
        "[Say|State|{r1}] the {w} {x} of the {B} of [each|every] {a}.",
    ],
    &["By {a}, what is the {w} {x} of the {B}?"],
);

/// The parent whose children have the highest or lowest aggregate.
pub const CHILDREN_BEST: Frames = Frames(
    &[
        "Which {a} has the {hi} {w} {x} of {B}?",
        "What is the {ac} of the {a} with the {hi} {w} {x} of [its |]{B}?",
        "[Find|Show] the {a} whose {B} have the {hi} {w} {x}.",
        "Which {a}'s {B} have the {hi} {w} {x}?",
        "[Identify|Point out|{r1}] the {a} whose {B} [have|show|attain] the {hi} {w} {x}.",
        "For which {a} is the {w} {x} of the {B} the {hi}?",
        "[Say|State|{r1}] whose {B} have the {hi} {w} {x} among the {A}.",
        "[From|Among] the {A}, whose {B} have the {hi} {w} {x}?",
        "Going by {a}, where is the {w} {x} of the {B} the {hi}?",
    ],
    &["Tell me the {a} whose {B} have the {hi} {w} {x}."],
);

/// The parent of the child with the highest or lowest `{c}`.
pub const PARENT_TOP: Frames = Frames(
    &[
        "What is the {ac} of the {a} of the {b} with the {hi} {c}?",
        "Which {a} does the {b} with the {hi} {c} belong to?",
        "[Find|Show|Give] the {ac} of the {a} that has the {b} with the {hi} {c}.",
        "Which {a} has the {b} with the {hi} {c}?",
        "{a} of the {b} with the {hi} {c}",
        "[Identify|{r1}] the {ac} of the {a} [owning|of|behind] the {b} with the {hi} {c}.",
        "The {b} with the {hi} {c} [belongs to|is under] which {a}?",
        "[Say|State|{r1}] which {a} the {b} with the {hi} {c} [has|falls under|is with].",
        "The {a} of the {b} with the {hi} {c}, which is it?",
        "What {ac} does the {a} of the {b} with the {hi} {c} have?",
    ],
    &["Tell me the {a} that goes with the {b} with the {hi} {c}."],
);

/// Two sides of a junction.
pub const BOTH: Frames = Frames(
    &[
        "[List|Show|Give] the {oc} of each {a} and the {ac} of its {B}.",
        "[Show|List] the {a} {oc} and the {b} {ac} for all pairs.",
        "For [every|each] {a} show its {oc} and the {ac} of its {B}.",
        "[List|Show] all {A} with their {B}[: {oc} and {ac}|].",
        "[Which|What] {B} does each {a} have? [Show|Give] {a} {oc} and {b} {ac}.",
        "Show every {a} {oc} together with the {b} {ac}.",
        "[Put|Set|Place|{r1}] the {oc} of [each|every] {a} [beside|with|against] the {ac} of its {B}.",
        "{a} {oc} and {b} {ac}, all pairs",
        "The {A} and their {B}: {oc} and {ac}",
        "[Say|State|{r1}] the {oc} of every {a} and the {ac} of each of its {B}.",
    ],
    &["Write down every {a} {oc} next to the {ac} of its {B}."],
);
