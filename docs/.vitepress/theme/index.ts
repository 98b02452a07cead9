import theme from "vitepress/theme";
import Layout from "./Layout.vue";
import "./accessible.css";

export default { extends: theme, Layout };
