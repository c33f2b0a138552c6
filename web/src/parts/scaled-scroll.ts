// Scrolls through content that is taller than a browser allows. Firefox stops at about 17 million
// pixels, and a million rows need 28 million: taller content gets a shorter scroll height, but small
// movements (wheel, finger, keys) still move by exact pixels, so that no row is skipped.

/** The maximum height of an element, in pixels. */
export const TALLEST = 8_000_000;

export class ScaledScroll {
  private top = 0;
  private now = 0;

  constructor(
    private content = 0,
    private view = 0,
  ) {}

  /** Updates the heights of content and view. */
  resize(content: number, view: number): void {
    this.content = content;
    this.view = view;
    this.now = Math.min(this.now, this.last);
  }

  /** The real height of the scrolled element. */
  get height(): number {
    return Math.min(this.content, TALLEST);
  }

  get scaled(): boolean {
    return this.content > TALLEST;
  }

  get offset(): number {
    return this.now;
  }

  private get last(): number {
    return Math.max(0, this.content - this.view);
  }

  private get lastTop(): number {
    return Math.max(0, this.height - this.view);
  }

  /** The content offset after the element was scrolled to `top`. */
  scrolled(top: number): number {
    const moved = top - this.top;
    this.top = top;
    if (!this.scaled) this.now = top;
    else if (top <= 0) this.now = 0;
    else if (top >= this.lastTop - 1) this.now = this.last;
    else if (Math.abs(moved) <= this.view) this.now += moved;
    else this.now = (top / this.lastTop) * this.last;
    this.now = Math.min(Math.max(0, this.now), this.last);
    return this.now;
  }

  /** Moves to a content offset; returns the scrollTop that the element must get. */
  place(offset: number): number {
    this.now = Math.min(Math.max(0, offset), this.last);
    this.top = this.scaled ? Math.round((this.now / this.last) * this.lastTop) : this.now;
    return this.top;
  }

  /** The scrollTop that fits the content offset, once scrolling has ended. */
  settled(): number {
    return this.place(this.now);
  }
}
