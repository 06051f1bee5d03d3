import { useLayoutEffect, useRef, useState, type RefObject } from "react";

/** The measured width of an element: a scaled viewBox would give 6 px text on phones. */
export function useWidth<T extends HTMLElement>(): [RefObject<T | null>, number] {
  const element = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return;
    // A hidden element reports 0; what was drawn stays.
    const measure = () => target.clientWidth > 0 && setWidth(target.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
