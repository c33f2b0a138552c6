// DuckDB's SQL dialect for the editor: keywords, types and functions to complete.
import { SQLDialect } from "@codemirror/lang-sql";

const KEYWORDS = `all and any anti as asc asof between by case cast cross cube current desc describe distinct else end except
exclude exists false filter first following from full group grouping groups having ilike in inner intersect interval is join
lateral last left like limit natural not null nulls offset on or order outer over partition pivot positional preceding qualify
range recursive replace right rollup row rows sample select semi sets similar summarize then ties to true try_cast unbounded
union unnest unpivot using values when where window with within`;

const TYPES = `bigint blob boolean date decimal double float hugeint integer interval json list map real smallint struct time
timestamp tinyint uuid varchar`;

const FUNCTIONS = `abs any_value arg_max arg_min avg bool_and bool_or ceil coalesce concat concat_ws contains corr count
cume_dist date_diff date_part date_trunc day dense_rank epoch exp extract first_value floor format greatest histogram hour
if ifnull initcap lag last_value lead least length levenshtein list ln log lower lpad ltrim max mean median min minute mode
month nth_value ntile nullif percent_rank power quantile_cont quantile_disc rank regexp_extract regexp_matches
regexp_replace replace reverse round row_number rpad rtrim second sign split_part sqrt starts_with stddev string_agg
string_split strftime strip_accents strptime substring sum trim trunc unicode upper variance week weekday year`;

export const FUNCTION_NAMES = FUNCTIONS.split(/\s+/);

export const DuckDB = SQLDialect.define({
  keywords: KEYWORDS.replaceAll(/\s+/g, " "),
  types: TYPES.replaceAll(/\s+/g, " "),
  doubleDollarQuotedStrings: true,
  operatorChars: "+-*/<>=~!@#%^&|?",
  caseInsensitiveIdentifiers: true,
});
