// The home page: upload a table, or pick one from the lake.
import { go } from "../state/history";
import { many } from "../words/format";
import { UploadTable } from "./upload-table";
import { Find } from "./find";
import { Figures, useInfo } from "./lake";

export function Home() {
  const info = useInfo();
  return (
    <div class="home" data-testid="home">
      <div class="home-words">
        <h1>Which tables join with yours?</h1>
        <p>Upload a table. lakejoin finds the tables that join with it among {info ? many(info.tables, "table") : "those in the lake"}, shows why, and joins them.</p>
      </div>
      <div class="home-choices">
        <UploadTable info={info} />
        <Find />
      </div>
      <button type="button" class="home-lake" onClick={() => go({ page: "lake" })} aria-label="Open the lake">
        <Figures info={info} />
      </button>
    </div>
  );
}
