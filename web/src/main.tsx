import "@fontsource-variable/inter/index.css";
import "@fontsource-variable/jetbrains-mono/index.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/shell.css";
import "./styles/grid.css";
import "./styles/home.css";
import "./styles/search.css";
import "./styles/join.css";
import "./styles/sql.css";
import "./styles/lake.css";
import { render } from "preact";
import { App } from "./app";
import { startHistory } from "./state/history";
import { followChain, followTitle } from "./state/tables";
import { followTheme } from "./state/theme";

followTheme();
followChain();
followTitle();
void startHistory().then(() => {
  const root = document.getElementById("page");
  if (root) render(<App />, root);
});
