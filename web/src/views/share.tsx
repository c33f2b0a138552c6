// Copies a link to exactly what is on the screen.
import { asProblem } from "../api/problem";
import { Button } from "../parts/controls";
import { copyText, toast } from "../parts/toast";
import { shareAddress } from "../state/history";
import type { Work } from "../state/page";

export function ShareButton({ work }: { work: Work }) {
  const share = async () => {
    try {
      const { url, short } = await shareAddress(work);
      await copyText(url, short ? "Copied a short link to this step" : "Copied a link to this step");
    } catch (error) {
      toast(asProblem(error).message, true);
    }
  };
  return (
    <Button icon="link" look="ghost" onClick={() => void share()} testId="share" title="Copy a link to this step">
      <span class="wide-only">Share</span>
    </Button>
  );
}
