// Icons from lucide; only those named here are bundled.
import {
  ArrowLeft, ArrowUpRight, Binary, Calendar, Check, ChevronDown, ChevronRight, CircleHelp, Clipboard, Code, Copy,
  Database, Download, Equal, FileSpreadsheet, FileUp, Hash, Keyboard, Link, Minus, Moon, Network, Play, Plus, RotateCcw,
  Search, Share2, Sheet, Square, Star, Sun, SunMoon, Table, TextQuote, ToggleLeft, TriangleAlert, Type, Upload, X,
  type IconNode,
} from "lucide";
import { h } from "preact";

const ICONS = {
  back: ArrowLeft, open: ArrowUpRight, integer: Hash, decimal: Binary, date: Calendar, check: Check,
  down: ChevronDown, right: ChevronRight, help: CircleHelp, paste: Clipboard, code: Code, copy: Copy, lake: Database,
  download: Download, equal: Equal, sheet: FileSpreadsheet, file: FileUp, keyboard: Keyboard, link: Link, minus: Minus, dark: Moon,
  graph: Network, play: Play, plus: Plus, again: RotateCcw, search: Search, share: Share2, grid: Sheet, stop: Square,
  star: Star, light: Sun, auto: SunMoon, table: Table, mixed: TextQuote, boolean: ToggleLeft, warn: TriangleAlert,
  text: Type, upload: Upload, close: X, empty: Square,
} satisfies Record<string, IconNode>;

export type IconName = keyof typeof ICONS;

/** An icon next to a text; screen readers skip it. */
export function Icon({ name, size = 16, class: extra = "" }: { name: IconName; size?: number; class?: string }) {
  return (
    <svg
      class={`icon ${extra}`} width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor"
      stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"
    >
      {ICONS[name].map(([tag, attributes]) => h(tag, attributes as Record<string, string>))}
    </svg>
  );
}

/** The logo: two tables that join. */
export function Logo({ size = 22 }: { size?: number }) {
  return (
    <svg class="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <path class="logo-mine" d="M4 7v18l12-9z" />
      <path class="logo-theirs" d="M28 7v18l-12-9z" />
    </svg>
  );
}
