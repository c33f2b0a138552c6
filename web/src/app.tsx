// The whole page: the bar at the top and the view below it.
import { useEffect } from "preact/hooks";
import { Questions } from "./parts/dialog";
import { Toasts } from "./parts/toast";
import { page } from "./state/page";
import { listenForKeys, Shortcuts } from "./views/shortcuts";
import { Home } from "./views/home";
import { Lake } from "./views/lake";
import { TopBar } from "./views/top-bar";
import { Unreadable } from "./views/open-errors";
import { WorkView } from "./views/work";

export function App() {
  useEffect(listenForKeys, []);
  const now = page.value;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>Skip to content</a>
      <TopBar />
      <main id="main" tabIndex={-1} class={`main page-${now.page}`}>
        {now.page === "home" && <Home />}
        {now.page === "lake" && <Lake table={now.table} />}
        {now.page === "work" && <WorkView work={now.work} />}
        {now.page === "unreadable" && <Unreadable why={now.why} gone={now.gone} />}
      </main>
      <Shortcuts />
      <Questions />
      <Toasts />
    </>
  );
}
