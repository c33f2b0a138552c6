// The values that meet and those that do not, side by side.
import { useEffect, useState } from "preact/hooks";
import { explain } from "../api/client";
import { asProblem, isAbort, type Problem } from "../api/problem";
import type { Explained, SearchAsked } from "../api/types";
import { ProblemNote, Working } from "../parts/controls";
import type { Hit } from "../state/hits";
import { keyText, whole } from "../words/format";

const SHOWN = 40;

export function Values({ hit, asked, running }: { hit: Hit; asked: SearchAsked; running: boolean }) {
  const [body, setBody] = useState<Explained | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [started] = useState(performance.now());
  useEffect(() => {
    // Ranks may still change while the search runs.
    if (running) return undefined;
    const request = new AbortController();
    setProblem(null);
    explain(asked, hit.rank, SHOWN, { signal: request.signal }).then(setBody, (error) => {
      if (!isAbort(error)) setProblem(asProblem(error));
    });
    return () => request.abort();
  }, [hit.key, running]);
  if (problem) return <ProblemNote problem={problem} />;
  if (!body) return <Working progress={null} started={started} fallback={running ? "Values are compared once the search is done" : "Comparing values"} />;
  return (
    <div class="values" data-testid="values">
      <div class="values-side">
        <h4><span class="dot both" />{whole(body.matched)} in both</h4>
        <ul>
          {body.matches.map(({ value, partner, mine, theirs }, place) => (
            <li key={place}>
              <span class="value">{keyText(value)}</span>
              {partner !== undefined && keyText(partner) !== keyText(value) && <span class="partner">{keyText(partner)}</span>}
              {(mine > 1 || theirs > 1) && <span class="value-rows">{whole(mine)} : {whole(theirs)}</span>}
            </li>
          ))}
          {body.matched > body.matches.length && <li class="quiet">and {whole(body.matched - body.matches.length)} more</li>}
        </ul>
      </div>
      <div class="values-side">
        <h4><span class="dot mine" />{whole(body.unmatched_total)} only mine</h4>
        <ul>
          {body.unmatched.map(({ value, mine }, place) => (
            <li key={place}>
              <span class="value">{keyText(value)}</span>
              {mine > 1 && <span class="value-rows">{whole(mine)}</span>}
            </li>
          ))}
          {body.unmatched_total > body.unmatched.length && <li class="quiet">and {whole(body.unmatched_total - body.unmatched.length)} more</li>}
          {body.unmatched_total === 0 && <li class="quiet">none: all of mine meet</li>}
        </ul>
      </div>
    </div>
  );
}
