import org.codelibs.opensearch.runner.OpenSearchRunner;

/**
 * One OpenSearch node in this JVM, until SIGTERM or the end of standard input (whoever started it is gone).
 * Usage: Node.java FOLDER KEY=VALUE... with lists as a,b,c
 */
public class Node {
    public static void main(String[] args) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.onBuild((number, settings) -> {
            for (int i = 1; i < args.length; i++) {
                int cut = args[i].indexOf('=');
                settings.put(args[i].substring(0, cut), args[i].substring(cut + 1));
            }
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                runner.close();
            } catch (Exception problem) {
                problem.printStackTrace();
            }
        }));
        runner.build(OpenSearchRunner.newConfigs().numOfNode(1).basePath(args[0]).useLogger());
        while (System.in.read() >= 0) {
            // nothing is said on this pipe: only its end matters
        }
        System.exit(0);
    }
}
