package oracle;

import org.apache.paimon.format.FileFormat;
import org.apache.paimon.format.FileFormatFactory;
import org.apache.paimon.format.FormatReaderContext;
import org.apache.paimon.format.FormatReaderFactory;
import org.apache.paimon.format.FormatWriterFactory;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.types.RowType;

import java.util.List;

/**
 * Reads the Avro parts of merged changelog files in place of Flink's class, of which only that of 1.3.1 can be had: it reads
 * parquet and orc, but at the end of an Avro part it loops for ever, as its stream gives 0 bytes there. 1.4 mended that.
 */
public final class CcAvro implements FileFormatFactory {
    @Override
    public String identifier() {
        return "cc-avro";
    }

    @Override
    public FileFormat create(FormatContext c) {
        if (System.getProperty("oracle.paimon", "").startsWith("1.3.")) {
            throw new J.Fail("Paimon 1.3 never comes to the end of the Avro part of a merged changelog file");
        }
        FileFormat avro = FileFormat.fromIdentifier("avro", c);
        return new FileFormat(identifier()) {
            @Override
            public FormatReaderFactory createReaderFactory(RowType data, RowType projected, List<Predicate> filters) {
                FormatReaderFactory f = avro.createReaderFactory(data, projected, filters);
                return x -> {
                    FormatReaderContext part = Merge.copy(x.fileIO(), x.filePath());
                    return f.createReader(part);
                };
            }

            @Override
            public FormatWriterFactory createWriterFactory(RowType type) {
                throw new UnsupportedOperationException();
            }

            @Override
            public void validateDataFields(RowType type) {
                avro.validateDataFields(type);
            }
        };
    }
}
