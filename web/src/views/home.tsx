// The first page: bring a table, or find one of the lake.
import { go } from "../state/history";
import { many } from "../words/format";
import { Bring } from "./bring";
import { Find } from "./find";
import { Figures, useInfo } from "./lake";

export function Home() {
  const info = useInfo();
  return (
    <div class="home" data-testid="home">
      <div class="home-words">
        <h1>Which tables join with yours?</h1>
        <p>Bring a table. lakejoin finds what joins with it in {info ? many(info.tables, "table") : "the lake"}, shows why, and joins it.</p>
      </div>
      <div class="home-ways">
        <Bring info={info} />
        <Find />
      </div>
      <button type="button" class="home-lake" onClick={() => go({ page: "lake" })} aria-label="See the lake">
        <Figures info={info} />
      </button>
    </div>
  );
}
