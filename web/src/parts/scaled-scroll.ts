// Scrolling through more than a browser can be tall. Firefox ends at some 17 million pixels, and
// a million rows are 28 million: a taller content gets a shorter scroll bar, and small movements
// (wheel, finger, keys) still move by what they say, so that no row is jumped over.

/** No element is made taller than this. */
export const TALLEST = 8_000_000;

export class ScaledScroll {
  private top = 0;
  private now = 0;

  constructor(
    private content = 0,
    private view = 0,
  ) {}

  /** Content and view may change while it is scrolled. */
  resize(content: number, view: number): void {
    this.content = content;
    this.view = view;
    this.now = Math.min(this.now, this.last);
  }

  /** How tall the element that is scrolled really is. */
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

  /** The element was scrolled to `top`: where in the content is that? */
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

  /** Goes to a place of the content: what the element must be scrolled to. */
  place(offset: number): number {
    this.now = Math.min(Math.max(0, offset), this.last);
    this.top = this.scaled ? Math.round((this.now / this.last) * this.lastTop) : this.now;
    return this.top;
  }

  /** Where the scroll bar belongs, once the movement is over. */
  settled(): number {
    return this.place(this.now);
  }
}
