// Matched and unmatched values side by side.
import { useEffect, useState } from "preact/hooks";
import { explain } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Explanation, SearchRequest } from "../api/types";
import { ProblemNote, Working } from "../parts/controls";
import type { Hit } from "../state/hits";
import { keyText, whole } from "../words/format";

const SHOWN = 40;

export function Values({ hit, request, running }: { hit: Hit; request: SearchRequest; running: boolean }) {
  const [body, setBody] = useState<Explanation | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [started] = useState(performance.now());
  useEffect(() => {
    // Ranks may still change while the search runs.
    if (running) return undefined;
    const abort = new AbortController();
    setProblem(null);
    explain(request, hit.rank, SHOWN, { signal: abort.signal }).then(setBody, (error) => {
      if (!isAbort(error)) setProblem(asProblem(error));
    });
    return () => abort.abort();
  }, [hit.key, running]);
  if (problem) return <ProblemNote problem={problem} />;
  if (!body) return <Working progress={null} started={started} fallback={running ? "Waiting for the search to finish" : "Comparing values"} />;
  return (
    <div class="values" data-testid="values">
      <div class="values-side">
        <h4><span class="dot both" />{whole(body.matched)} matched</h4>
        <ul>
          {body.matches.map(({ value, partner, mine, theirs }, place) => (
            <li key={place}>
              <span class="value">{keyText(value)}</span>
              {partner !== undefined && keyText(partner) !== keyText(value) && <span class="their-value">{keyText(partner)}</span>}
              {(mine > 1 || theirs > 1) && <span class="value-rows">{whole(mine)} : {whole(theirs)}</span>}
            </li>
          ))}
          {body.matched > body.matches.length && <li class="quiet">and {whole(body.matched - body.matches.length)} more</li>}
        </ul>
      </div>
      <div class="values-side">
        <h4><span class="dot mine" />{whole(body.unmatched_total)} only in your table</h4>
        <ul>
          {body.unmatched.map(({ value, mine }, place) => (
            <li key={place}>
              <span class="value">{keyText(value)}</span>
              {mine > 1 && <span class="value-rows">{whole(mine)}</span>}
            </li>
          ))}
          {body.unmatched_total > body.unmatched.length && <li class="quiet">and {whole(body.unmatched_total - body.unmatched.length)} more</li>}
          {body.unmatched_total === 0 && <li class="quiet">none: all your values match</li>}
        </ul>
      </div>
    </div>
  );
}
