// The settings of a join, and how the tables join in words.
import type { JoinFound, JoinSettings } from "../api/types";
import { arrows } from "../parts/controls";
import { Icon } from "../parts/icon";
import { Venn } from "../parts/venn";
import { cellText, many, percent, short, whole } from "../words/format";
import { HOWS, JOIN_BYS } from "../words/methods";

interface Settings {
  settings: JoinSettings;
  onChange: (settings: JoinSettings) => void;
}

export function JoinControls({ settings, count, onChange }: Settings & { count: Record<JoinSettings["how"], number> | null }) {
  const by = settings.by ?? (settings.on ? "equal" : "auto");
  return (
    <>
      <div class="hows" role="radiogroup" onKeyDown={arrows} aria-label="Which rows to keep">
        {HOWS.map(({ how, name, what }) => (
          <button
            key={how} type="button" role="radio" aria-checked={settings.how === how} title={what}
            data-testid={`how-${how}`} onClick={() => onChange({ ...settings, how })}
          >
            <Venn how={how} />
            <strong>{name}</strong>
            <small>{count ? short(count[how]) : "…"}</small>
          </button>
        ))}
      </div>
      <p class="method-what">{HOWS.find(({ how }) => how === settings.how)?.what}</p>
      <label class="field row">
        <span class="field-name">Match rows by</span>
        <select class="input" value={by} data-testid="join-by" onChange={(event) => onChange({ ...settings, by: event.currentTarget.value })}>
          {JOIN_BYS.map(({ by: value, name, what }) => <option key={value} value={value} title={what}>{name}</option>)}
        </select>
      </label>
      {by === "nearest" && (
        <label class="field row">
          <span class="field-name">Within</span>
          <input class="input small" value={settings.within ?? "500m"} onChange={(event) => onChange({ ...settings, within: event.currentTarget.value })} />
        </label>
      )}
    </>
  );
}

export function JoinWords({ found }: { found: JoinFound }) {
  return (
    <section class="join-words" aria-label="How the tables join" data-testid="join-words">
      <ol>
        {found.steps.map((step, place) => (
          <li key={place}>
            <p class="join-program"><span class="kind">{step.kind}</span> <code>{step.words}</code></p>
            {step.program && !step.words.includes(step.program) && <p><code>{step.program}</code></p>}
            <p class="quiet">
              {whole(step.left_rows)} of your rows, {whole(step.right_rows)} of theirs
              {step.sure !== null && ` · ${percent(step.sure)} confidence`} · {step.why}
            </p>
            {step.kind !== "equal" && (
              <ul class="join-examples">
                {found.examples.filter((example) => example.step === place).slice(0, 4).map((example, at) => (
                  <li key={at}>
                    <span class="mine">{cellText(example.before)}</span>
                    {example.after !== null && example.after !== example.before && <><span class="pair-sign">→</span><span>{cellText(example.after)}</span></>}
                    <span class="pair-sign">{step.kind === "transform" ? "=" : "~"}</span>
                    <span class="theirs">{cellText(example.partner)}</span>
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ol>
      <p class="quiet">
        {whole(found.left_joined)} of your {many(found.left_rows, "row")} match {whole(found.right_joined)} of their {many(found.right_rows, "row")}
      </p>
      {found.fan_out >= 2 && (
        <p class={`warning ${found.fan_out >= 10 ? "strong" : ""}`}><Icon name="warn" size={13} /> Each of your rows matches {found.fan_out.toFixed(1)} of theirs on average.</p>
      )}
      {found.notes.map((note) => <p key={note} class="note">{note}</p>)}
    </section>
  );
}

export function JoinColumns({ found, settings, onChange }: Settings & { found: JoinFound }) {
  const all = found.preview.columns;
  const kept = new Set(settings.columns ?? all.map((column) => column.name));
  const set = (names: Set<string>) => {
    const columns = all.map((column) => column.name).filter((name) => names.has(name));
    onChange({ ...settings, columns: columns.length === all.length ? null : columns });
  };
  const toggle = (name: string) => {
    const next = new Set(kept);
    if (!next.delete(name)) next.add(name);
    set(next);
  };
  return (
    <fieldset class="join-columns">
      <legend>Columns to keep <span class="quiet">{kept.size} of {all.length}</span></legend>
      {(["left", "right"] as const).map((side) => {
        const here = all.filter((column) => column.side === side);
        const every = here.every((column) => kept.has(column.name));
        return (
          <div key={side} class={`join-column-side ${side === "left" ? "mine" : "theirs"}`}>
            <button type="button" class="text-button" onClick={() => {
              const next = new Set(kept);
              here.forEach((column) => (every ? next.delete(column.name) : next.add(column.name)));
              set(next);
            }}>
              {every ? "Clear" : "Select"} {side === "left" ? "mine" : "theirs"}
            </button>
            {here.map((column) => (
              <label key={column.name} class="check" data-testid="keep-column" data-column-name={column.name}>
                <input type="checkbox" checked={kept.has(column.name)} onChange={() => toggle(column.name)} />
                <span>{column.name}</span>
                {column.key && <Icon name="equal" size={12} />}
              </label>
            ))}
          </div>
        );
      })}
    </fieldset>
  );
}
